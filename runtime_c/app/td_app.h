/* What the build adds to the two applications of this folder: a model and its arena. */
#ifndef TD_APP_H
#define TD_APP_H

#include "tinydeploy.h"

/* Most bytes that one RPC call carries beyond its header. */
#ifndef TD_APP_PAYLOAD_BYTES
#define TD_APP_PAYLOAD_BYTES 1024u
#endif

#ifndef TD_SLOTS
#define TD_SLOTS 0
#endif

/* Defined by the build, beside the generated model. */
extern const td_model *const td_app_model;

#if TD_SLOTS
#include "td_slot_model.h"

/* Likewise, in images whose model is exchanged. */
extern const td_slot_model *const td_app_slots;
#endif

/* Defined by td_app_arena.c in the RAM region that the build has chosen. */
extern uint8_t td_app_arena[TD_APP_ARENA_BYTES];

#endif
