"""tinydeploy: from a trained network to proved, bit-exact, self-contained C on a microcontroller."""

__version__ = "0.1.0"
