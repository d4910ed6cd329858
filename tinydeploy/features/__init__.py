"""Audio features on the device: log-mel energies and MFCC in integers, bit for bit as the reference."""

from tinydeploy.features.c_tables import c_files
from tinydeploy.features.config import MelConfig, Spectrum, kws_mfcc, sww_log_mel
from tinydeploy.features.floating import features_float
from tinydeploy.features.integer import frames_of, integer_features

__all__ = [
    "MelConfig",
    "Spectrum",
    "c_files",
    "features_float",
    "frames_of",
    "integer_features",
    "kws_mfcc",
    "sww_log_mel",
]
