"""What can go wrong on the line, one class per thing that a caller may want to tell apart.

Each builds its own message from plain values: where it happened, what happened, what to do.
"""

from __future__ import annotations

from tinydeploy.errors import DeviceError
from tinydeploy.rpc.protocol import VERSION, Call, Status

_RECONNECT = "Connect again; the model's state starts anew"


class LineClosedError(DeviceError):
    """The port is gone: unplugged, the process or the peer ended, or this program closed it."""

    def __init__(self, where: str, detail: str = "") -> None:
        what = f"the line closed ({detail})" if detail else "the line closed"
        super().__init__(what, where=where, fix="Check the cable and the board's power, then connect again")


class PortError(DeviceError):
    """The port cannot be opened: absent, busy, not allowed, or not understood."""


class NoAnswerError(DeviceError):
    """The device stayed silent, or nothing that it sent arrived whole."""

    def __init__(self, where: str, call: Call, waited_s: float, attempts: int) -> None:
        times = "once" if attempts == 1 else f"{attempts} times"
        fix = f"Whether the device executed it is unknown. {_RECONNECT}"
        if call is Call.HELLO:
            fix = "Check the port, its baud rate, and that the image was built with --rpc io"
        what = f"no answer to '{call.words}', sent {times} within {waited_s:.3g} s"
        super().__init__(what, where=where, fix=fix)


class ProtocolVersionError(DeviceError):
    """Host and image are of different releases."""

    def __init__(self, where: str, device_version: int) -> None:
        what = f"the device speaks RPC version {device_version}, this host speaks {VERSION}"
        super().__init__(what, where=where, fix="Build and flash the image again with this tinydeploy")


class SessionLostError(DeviceError):
    """The device was reset, or another program took it over: what it held is gone."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(what, where=where, fix=_RECONNECT)


class BadAnswerError(DeviceError):
    """An answer arrived whole, but is not what the protocol promises."""

    def __init__(self, where: str, call: Call, detail: str) -> None:
        what = f"the answer to '{call.words}' {detail}"
        super().__init__(what, where=where, fix="Build and flash the image again with this tinydeploy")


class RefusedError(DeviceError):
    """The device understood the call and refuses it; the session goes on."""

    def __init__(self, where: str, call: Call, status: int) -> None:
        self.call = call
        self.status = status
        reason, fix = _REFUSALS.get(status, (f"status {status} is unknown to this host", _REBUILD))
        if status == Status.NOT_SUPPORTED:
            fix = _WITHOUT.get(call, _REBUILD)
        super().__init__(f"the device refuses '{call.words}': {reason}", where=where, fix=fix)


class ModelFailedError(DeviceError):
    """The generated model returned an error; `td_status` is its number."""

    def __init__(self, where: str, call: Call, td_status: int) -> None:
        self.td_status = td_status
        reason = _TD_STATUS.get(td_status, "a status that this host does not know")
        what = f"the model failed in '{call.words}': {reason} (td_status {td_status})"
        super().__init__(what, where=where, fix=_REBUILD)


class InputError(DeviceError):
    """What this program was asked to send does not suit the model or the device; nothing was sent."""


_REBUILD = "Build and flash the image again with this tinydeploy"
_RESET = "Reset the model first"
_AGAIN = "Start the update again"
_WITHOUT = {
    Call.STEP: "Build the image with tracing",
    Call.RESET_DEVICE: "Reset the board by hand",
    Call.READ_MEMORY: "Build the image with --rpc debug",
    Call.WRITE_MEMORY: "Build the image with --rpc debug",
    Call.LOAD_CODE: "No image offers it yet",
    Call.CALL_CODE: "No image offers it yet",
    Call.SLOT_INFO: "Build the image with --slots, and flash it",
}
_REFUSALS: dict[int, tuple[str, str]] = {
    Status.NOT_SUPPORTED: ("the image was built without it", ""),
    Status.BAD_LENGTH: ("the request has the wrong size", _REBUILD),
    Status.BAD_INDEX: ("the model has no such input or output", "Ask for an index that it describes"),
    Status.OUT_OF_RANGE: ("it reaches past the end", "Ask for fewer bytes or a smaller offset"),
    Status.TOO_LARGE: ("the answer exceeds the device's payload", "Build the image with a larger payload"),
    Status.NO_OUTPUT: ("no run has completed since the inputs were written", "Run the model first"),
    Status.STEPPING: ("a step-by-step run has not ended", _RESET),
    Status.TRACE_FULL: (
        "one step reports more instances than an answer holds",
        "Build the image with a larger payload",
    ),
    Status.DENIED: ("the board does not allow access to these bytes", "Use addresses of its memories"),
    Status.OTHER_ABI: ("the model was compiled for another runtime", _REBUILD),
    Status.OTHER_LAYOUT: ("the model belongs to other code than the image holds", _REBUILD),
    Status.OTHER_IMAGE: ("the model was made for an image with another model of its own", _AGAIN),
    Status.NO_UPDATE: ("no update has begun, or its bytes come in another order", _AGAIN),
    Status.OLD_COUNTER: ("the model is not newer than the one that runs", _AGAIN),
    Status.DAMAGED: ("what arrived in flash is not what was sent", _AGAIN),
    Status.NOT_TRUSTED: ("the image does not trust the model's signature", "Sign it with the image's key"),
    Status.FLASH_FAILED: ("the flash memory reported an error", "The old model still runs. " + _AGAIN),
}
_TD_STATUS = {
    0: "it did not end after its last step",
    2: "a pointer is missing",
    3: "the arena is too small",
    4: "the arena is not aligned",
    5: "it is not initialised",
}
