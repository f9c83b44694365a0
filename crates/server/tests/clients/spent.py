"""Processor time of a server for puts and gets: `python spent.py HOST:PORT PID`, of one without
keys on this machine. It uses one connection, and leaves the bucket `spent`. Sizes are those of the
largest entry, the smallest file, and a large file."""
import os, socket, sys, time

host, pid = sys.argv[1], sys.argv[2]
address, port = host.rsplit(':', 1)
stream = socket.create_connection((address, int(port)))
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
buffer = bytearray(1 << 20)


def request(method, path, body=b''):
    head = f'{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n'
    stream.sendall(head.encode() + body)
    taken = b''
    while b'\r\n\r\n' not in taken:
        taken += stream.recv(65536)
    head, rest = taken.split(b'\r\n\r\n', 1)
    lines = head.lower().split(b'\r\n')
    left = next(int(line[15:]) for line in lines if line.startswith(b'content-length:')) - len(rest)
    while left > 0:
        left -= stream.recv_into(buffer, min(left, len(buffer)))
    return int(lines[0].split()[1])


def spent():
    """User and system time, in seconds."""
    with open(f'/proc/{pid}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return [int(ticks) / os.sysconf('SC_CLK_TCK') for ticks in fields[11:13]]


def measure(name, count, call):
    before, begun = spent(), time.time()
    for number in range(count):
        assert call(number) == 200, name
    clock = time.time() - begun
    user, system = (after - before for after, before in zip(spent(), before))
    of = [f'{part}{1e6 * seconds / count:8.0f}' for part, seconds in
          (('user', user), ('system', system), ('clock', clock))]
    print(f'{name:16}{count:6} requests, microseconds each: {", ".join(of)}')


assert request('PUT', '/spent') in (200, 409)
for size, count in ((64 << 10, 2000), (65 << 10, 600), (16 << 20, 24)):
    body = os.urandom(size)
    path = f'/spent/{size}-'
    measure(f'put {size >> 10} KiB', count, lambda at: request('PUT', f'{path}{at % 50}', body))
    measure(f'get {size >> 10} KiB', count * 2, lambda at: request('GET', f'{path}{at % min(50, count)}'))
