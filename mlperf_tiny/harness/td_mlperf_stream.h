/* A streaming wake word: samples in, features and a run of the model for every stride, detections
 * out.
 *
 * Samples come over the serial line where there is no microphone: "db load N", "db HH..", then
 * "pcm" takes them. "start" forgets everything; "stop" reports the model's score at every stride,
 * and where in the stream it passed the threshold. */
#ifndef TD_MLPERF_STREAM_H
#define TD_MLPERF_STREAM_H

#include "td_mlperf.h"
#include "tinydeploy.h"

/* Runs a command of streams; false where it is another one. */
bool td_mlperf_stream_command(td_mlperf *mlperf, td_state *state, const char *command);

#endif
