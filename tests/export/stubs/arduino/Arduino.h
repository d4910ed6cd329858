/* As much of an Arduino core as examples use, on this machine's standard output. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
class Uart {
  public:
    void begin(unsigned long baud) {
        open_ = baud != 0;
    }
    operator bool() const {
        return open_;
    }
    size_t print(const char *text) {
        /* What comes before begin() is lost, as on a board. */
        return open_ ? fwrite(text, 1, strlen(text), stdout) : 0;
    }
    size_t println(const char *text) {
        return print(text) + print("\r\n");
    }

  private:
    bool open_ = false;
};

static Uart Serial;

void setup();
void loop();

static inline unsigned long millis() {
    static unsigned long now = 0;
    return ++now;
}

static inline void delay(unsigned long) {
}
#endif
#endif
