"""Two programs of different agents: one connects to a server and passes its connections on through
a socket in their folder, the other takes them and asks by each who it is for.

`give PORT COUNT` connects; `take NAME=TOKEN…` asks twice by each name, without a token where there
is none, and writes `NAME: AGENT, ROOMS` lines to `taken`."""

import http.client, json, os, socket, sys

PLACE = "passing"


def give(port, count):
    far = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(int(count))]
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(PLACE)
        socket.send_fds(way, [b"x"], [one.fileno() for one in far])
        for one in far:
            one.close()
        way.send(b"y")


def answer(connection, path, token):
    line = http.client.HTTPConnection("127.0.0.1")
    line.sock = socket.socket(fileno=connection)
    headers = {"Host": "127.0.0.1", **({"X-Service-Agent": token} if token else {})}
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    return answer.status, json.load(answer)


def take(*shown):
    with socket.socket(socket.AF_UNIX) as place:
        place.bind(PLACE + ".part")
        place.listen()
        # It is there only once somebody listens.
        os.rename(PLACE + ".part", PLACE)
        way, _ = place.accept()
    _, connections, _, _ = socket.recv_fds(way, 1, 2 * len(shown))
    # From then on nobody else holds them.
    assert way.recv(1) == b"y"
    with open("taken", "w") as taken:
        for one in shown:
            name, token = one.split("=")
            _, said = answer(connections.pop(), "/api/auth/whoami", token)
            rooms, _ = answer(connections.pop(), "/api/rooms", token)
            who = (said.get("caller") or {}).get("displayName")
            print(f"{name}: {who}, {rooms}", file=taken)


{"give": give, "take": take}[sys.argv[1]](*sys.argv[2:])
