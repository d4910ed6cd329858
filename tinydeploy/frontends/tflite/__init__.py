"""TensorFlow Lite: structural verification, the checked model, and one import rule per operator."""

from tinydeploy.frontends.tflite.reader import load_bytes, survey_bytes
from tinydeploy.frontends.tflite.validate import is_tflite

__all__ = ["is_tflite", "load_bytes", "survey_bytes"]
