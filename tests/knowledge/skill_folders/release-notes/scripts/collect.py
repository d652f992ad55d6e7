print("3 changes")
