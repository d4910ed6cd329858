"""Measurements of models on boards, beside the stored figures of peers. ``make bench`` runs them all."""
