"""The published metrics, their floors, the wrong-context controls, calibration."""
