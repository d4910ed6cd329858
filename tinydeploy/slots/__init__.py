"""A new model into a running image: its constants go over the line into the slot that is not active."""

from tinydeploy.slots.image import HEAD_BYTES, Sign, slot_head
from tinydeploy.slots.layout import Known, difference, read_known
from tinydeploy.slots.update import Update, update_model

__all__ = [
    "HEAD_BYTES",
    "Known",
    "Sign",
    "Update",
    "difference",
    "read_known",
    "slot_head",
    "update_model",
]
