"""The compiled simulator: plant, servo and record, instant by instant."""
