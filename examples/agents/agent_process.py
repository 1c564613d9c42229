"""The other end of the pipe: reads a JSON object from each line and answers with one. It needs nothing of MeCO.

A bridge to another platform's agents looks like this: build the agent where `hello` is read, ask it where `s` is.
"""

import json
import sys

hello = json.loads(sys.stdin.readline())
spent = hello["features"].index("budget spent")
print(json.dumps({"name": "falling theta", "sets": True}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "begin" in message:
        continue  # so many runs start: forget those before
    feasible = [sum(point[3] for point in points) / len(points) for points in message["points"]]
    actions = [[0.5 * (1 - s[spent]), 0.1 if share else 0.3] for s, share in zip(message["s"], feasible)]
    print(json.dumps({"actions": actions}), flush=True)
