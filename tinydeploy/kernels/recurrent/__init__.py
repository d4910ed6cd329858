"""Schedules of Lstm, Gru and Rnn."""
