/* Firmware without a serial protocol: the model runs once, on a zeroed arena, and the board sleeps.
 * It shows what a product's own main() does, and its size is the product's. */
#include "td_cpu.h"

#include "td_app.h"
#include "td_board.h"

static td_state td_app_state;

void td_app_main(void) {
    if (td_app_model->init(&td_app_state, td_app_arena, TD_APP_ARENA_BYTES) == TD_OK) {
        (void)td_app_model->run(&td_app_state);
    }
}
