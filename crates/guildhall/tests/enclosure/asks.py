"""A program of an agent that asks servers and reads files as `orders.json` says, hiding from
whoever looks for its process; writes to `found.json` what came of each: the status of an answer,
"ok", or the name of the error."""

import ctypes, errno, http.client, json, os, sqlite3

PR_SET_DUMPABLE = 4


def ask(order):
    host, port = order["at"].rsplit(":", 1)
    line = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=30)
    headers = {"Content-Type": "application/json", **order["headers"]}
    line.request(order["method"], order["path"], json.dumps(order["body"]), headers)
    return str(line.getresponse().status)


def touch(order):
    open(order["path"], order["mode"]).close()
    return "ok"


def change(order):
    with sqlite3.connect(f"file:{order['path']}?mode=rw", uri=True, timeout=30) as database:
        database.execute(order["sql"])
    return "ok"


def outcome(action, order):
    try:
        return action(order)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except sqlite3.Error as error:
        return str(error)


with open("orders.json") as file:
    orders = json.load(file)
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
ACTIONS = {"ask": ask, "touch": touch, "change": change}
found = {order["name"]: outcome(ACTIONS[order["action"]], order) for order in orders}
with open("part.json", "w") as file:
    json.dump(found, file)
os.rename("part.json", "found.json")
