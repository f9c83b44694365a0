"""Puts or gets objects of a server of S3, and prints what it took as JSON:
`python3 client.py ADDRESS PID put|get PREFIX SIZE COUNT CONNECTIONS`, or `client.py ADDRESS bucket`.

Requests are signed by version 4, their bodies included, and connections are kept. A process sends
the requests of a connection. The digest of the body, which all objects share, is computed once. The
server's processor time (`/proc/PID/stat`) is read when its later work, such as merges, is done: at
the first second in which it spends less than 20 ms.
"""
import hashlib, hmac, json, multiprocessing, os, random, socket, sys, time

ACCESS, SECRET = 'bench', 'benchbenchbenchbench'
TICK = os.sysconf('SC_CLK_TCK')
EMPTY = hashlib.sha256(b'').hexdigest()


def mac(key, text):
    return hmac.digest(key, text.encode(), 'sha256')


class Connection:
    """A connection that is kept, and the key of its signatures."""

    def __init__(self, address):
        host, port = address.rsplit(':', 1)
        self.address, self.day = address, None
        self.stream = socket.create_connection((host, int(port)))
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(1 << 20)

    def head(self, method, path, length, digest):
        now = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
        if self.day != now[:8]:
            self.day, self.key = now[:8], ('AWS4' + SECRET).encode()
            for part in (self.day, 'us-east-1', 's3', 'aws4_request'):
                self.key = mac(self.key, part)
        names = 'host;x-amz-content-sha256;x-amz-date'
        lines = f'host:{self.address}\nx-amz-content-sha256:{digest}\nx-amz-date:{now}\n'
        canonical = f'{method}\n{path}\n\n{lines}\n{names}\n{digest}'
        scope = f'{self.day}/us-east-1/s3/aws4_request'
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        signature = mac(self.key, f'AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashed}').hex()
        return (f'{method} {path} HTTP/1.1\r\nhost: {self.address}\r\ncontent-length: {length}\r\n'
                f'x-amz-content-sha256: {digest}\r\nx-amz-date: {now}\r\n'
                f'authorization: AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, '
                f'SignedHeaders={names}, Signature={signature}\r\n\r\n').encode()

    def request(self, method, path, body=b'', digest=EMPTY):
        """The bytes of the answer's body; their number, and the first piece of them."""
        self.stream.sendall(self.head(method, path, len(body), digest))
        self.stream.sendall(body)
        taken = b''
        while b'\r\n\r\n' not in taken:
            piece = self.stream.recv(65536)
            assert piece, f'{method} {path}: the connection ended'
            taken += piece
        head, rest = taken.split(b'\r\n\r\n', 1)
        lines = head.lower().split(b'\r\n')
        lengths = [int(line[15:]) for line in lines if line.startswith(b'content-length:')]
        length = lengths[0] if lengths else 0
        left = length - len(rest)
        while left > 0:
            left -= self.stream.recv_into(self.buffer, min(left, len(self.buffer)))
        assert lines[0].split()[1] == b'200', (lines[0], rest)
        return length


def spent(pid):
    """Processor time of a process, in seconds."""
    with open(f'/proc/{pid}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return sum(int(ticks) for ticks in fields[11:13]) / TICK


def settled(pid):
    """The same when it does nothing any more, or after a minute."""
    before = spent(pid)
    for _ in range(60):
        time.sleep(1)
        now = spent(pid)
        if now - before < 0.02:
            break
        before = now
    return now


def carry_out(address, operation, prefix, size, numbers, barrier, told):
    connection, body = Connection(address), random.Random(size).randbytes(size)
    digest = hashlib.sha256(body).hexdigest()
    barrier.wait()
    for number in numbers:
        path = f'/bench/{prefix}{number}'
        if operation == 'put':
            connection.request('PUT', path, body, digest)
        else:
            assert connection.request('GET', path) == size, path
    own = os.times()
    told.put(own.user + own.system)


def measure(address, pid, operation, prefix, size, count, connections):
    numbers = list(range(count))
    random.Random(count).shuffle(numbers)
    context = multiprocessing.get_context('fork')
    barrier, told = context.Barrier(connections + 1), context.Queue()
    of = [context.Process(target=carry_out, args=(
        address, operation, prefix, size, numbers[at::connections], barrier, told))
        for at in range(connections)]
    for one in of:
        one.start()
    time.sleep(0.5)
    before = spent(pid)
    barrier.wait()
    begun = time.monotonic()
    for one in of:
        one.join()
        assert one.exitcode == 0
    clock = time.monotonic() - begun
    at_once = spent(pid) - before
    client = sum(told.get() for _ in of)
    return {'clock': clock, 'at_once': at_once, 'processor': settled(pid) - before,
            'client': client}


address, words = sys.argv[1], sys.argv[2:]
if words == ['bucket']:
    Connection(address).request('PUT', '/bench')
else:
    pid, operation, prefix, size, count, connections = words
    print(json.dumps(measure(
        address, int(pid), operation, prefix, int(size), int(count), int(connections))))
