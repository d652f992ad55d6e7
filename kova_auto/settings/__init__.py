"""Read what the person who runs the service decided: settings, secrets by reference, the environment."""
