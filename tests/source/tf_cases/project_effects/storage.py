events = []
