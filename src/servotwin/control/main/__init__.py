"""The main controller: operator, states, jogging, playback of jobs."""
