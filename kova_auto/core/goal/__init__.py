"""Pursue a goal over many turns: by what it is judged, when it is reached, and when it is given up."""
