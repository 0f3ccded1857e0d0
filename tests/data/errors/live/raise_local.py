from _support import *  # noqa

# ============================================================ socket / ssl / asyncio

@case("socket/connect_refused", "transient", mhe="no")
def so_refused():
    socket.create_connection(("127.0.0.1", closed_port()), timeout=1)


@case("socket/connect_timed_out", "in_doubt_timeout", also=("transient",), mhe="maybe", amb=True,
      note="a bare TimeoutError('timed out'): it happened while connecting, but the object does not say so; phase unknown counts as in doubt")
def so_ct():
    port, keep = full_backlog()
    socket.create_connection(("127.0.0.1", port), timeout=0.2)


@case("socket/reset_on_recv", "in_doubt_timeout", mhe="maybe")
def so_reset():
    with RawServer(lambda c, r: (c.recv(10), rst(c)), read_request=False) as s:
        k = socket.create_connection(("127.0.0.1", s.port))
        k.sendall(b"0123456789")
        time.sleep(0.2)
        k.recv(10)


@case("socket/broken_pipe", "in_doubt_timeout", also=("transient",), mhe="maybe", amb=True,
      note="peer went away while we were sending")
def so_pipe():
    with RawServer(lambda c, r: rst(c), read_request=False) as s:
        k = socket.create_connection(("127.0.0.1", s.port))
        time.sleep(0.1)
        with contextlib.suppress(ConnectionResetError):
            k.recv(1)
        for _ in range(50):
            k.sendall(b"x" * 4096)


@case("socket/no_route", "transient", also=("permission_denied",), mhe="no", origin="constructed")
def so_noroute():
    import errno
    raise OSError(errno.EHOSTUNREACH, "No route to host")


@case("socket/net_unreachable", "transient", also=("permission_denied",), mhe="no", origin="constructed")
def so_netunreach():
    import errno
    raise OSError(errno.ENETUNREACH, "Network is unreachable")


@case("socket/address_in_use", "permission_denied", also=("transient", "resource_exhausted"), amb=True,
      note="a configuration clash on this machine")
def so_inuse():
    a = socket.create_server(("127.0.0.1", 0))
    b = socket.socket()
    b.bind(a.getsockname())


@case("socket/bind_privileged", "permission_denied", origin="constructed")
def so_bind():
    import errno
    raise PermissionError(errno.EACCES, "Permission denied")


@case("asyncio/incomplete_read", "in_doubt_timeout", mhe="maybe")
def as_incomplete():
    import asyncio

    async def main():
        with RawServer(lambda c, r: (c.recv(4), c.sendall(b"\x00\x00")), read_request=False) as s:
            r, w = await asyncio.open_connection("127.0.0.1", s.port)
            w.write(b"ping")
            await w.drain()
            await r.readexactly(8)
    asyncio_run(main())


@case("asyncio/cancelled", "cancelled", mhe="maybe")
def as_cancel():
    import asyncio

    async def main():
        t = asyncio.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        t.cancel("session stopped by user")
        await t
    asyncio_run(main())


@case("asyncio/event_loop_closed", "bug")
def as_loop():
    import asyncio
    loop = asyncio.new_event_loop()
    loop.close()
    c = asyncio.sleep(0)
    try:
        loop.run_until_complete(c)
    finally:
        c.close()


@case("asyncio/queue_full", "transient", also=("resource_exhausted", "bug"), mhe="no", amb=True, note="local back-pressure")
def as_qfull():
    import asyncio
    q = asyncio.Queue(maxsize=1)
    q.put_nowait(1)
    q.put_nowait(2)


@case("anyio/end_of_stream", "in_doubt_timeout", also=("transient",), mhe="maybe", amb=True, needs=("anyio",))
def an_eos():
    import anyio

    async def main():
        with drop_after_request() as s:
            st = await anyio.connect_tcp("127.0.0.1", s.port)
            await st.send(b"GET / HTTP/1.1\r\n\r\n")
            await st.receive()
    anyio.run(main)


@case("anyio/broken_resource", "in_doubt_timeout", also=("transient",), mhe="maybe", amb=True, needs=("anyio",))
def an_broken():
    import anyio

    async def main():
        with RawServer(lambda c, r: (time.sleep(0.05), rst(c)), read_request=False) as s:
            st = await anyio.connect_tcp("127.0.0.1", s.port)
            await anyio.sleep(0.1)
            for _ in range(5):
                await st.send(b"x" * 1000)
                await anyio.sleep(0.02)
    anyio.run(main)


@case("anyio/closed_resource", "bug", needs=("anyio",))
def an_closed():
    import anyio

    async def main():
        a, b = anyio.create_memory_object_stream(1)
        await a.aclose()
        await a.send(1)
    anyio.run(main)


@case("anyio/would_block", "transient", also=("resource_exhausted", "bug"), mhe="no", amb=True, needs=("anyio",), note="local queue full")
def an_wb():
    import anyio

    async def main():
        a, b = anyio.create_memory_object_stream(0)
        a.send_nowait(1)
    anyio.run(main)


@case("python/keyboard_interrupt", "cancelled")
def py_kbd():
    raise KeyboardInterrupt


# ============================================================ programming errors in a tool


@case("bug/type_error_none", "bug")
def bug_none():
    orders = None
    return orders[0]


@case("bug/type_error_concat", "bug")
def bug_concat():
    return "total: " + 42


@case("bug/attribute_error", "bug")
def bug_attr():
    class Client:
        pass
    Client().fetch_all()


@case("bug/attribute_error_none", "bug", note="classic: a lookup returned None and nobody checked")
def bug_attr_none():
    import re
    return re.match(r"\d+", "abc").group(0)


@case("bug/key_error", "bug", note="the upstream changed its response shape")
def bug_key():
    return {"data": {}}["data"]["items"]


@case("bug/index_error", "bug")
def bug_index():
    return [][0]


@case("bug/recursion", "bug")
def bug_rec():
    def f(n):
        return f(n + 1)
    f(0)


@case("bug/assertion", "bug")
def bug_assert():
    total = 3
    assert total == 4, "ledger out of balance: expected 4, got 3"


@case("bug/not_implemented", "bug", also=("permission_denied",))
def bug_notimpl():
    raise NotImplementedError("refund is not supported by this adapter yet")


@case("bug/import_error", "bug", also=("permission_denied",), amb=True, note="missing dependency: could be called configuration")
def bug_import():
    import pandas_that_is_not_there  # noqa: F401


@case("bug/import_name", "bug")
def bug_import_name():
    from json import loadz  # noqa: F401


@case("bug/unicode_decode", "bug", also=("invalid_argument", "unknown"), amb=True, note="a GBK file read as UTF-8")
def bug_unicode():
    return "订单".encode("gbk").decode("utf-8")


@case("bug/async_not_awaited", "bug")
def bug_async():
    async def fetch():
        return {"id": 1}
    c = fetch()
    try:
        return c["id"]
    finally:
        c.close()


@case("bug/json_not_serialisable", "bug")
def bug_json():
    import datetime
    return json.dumps({"at": datetime.datetime(2026, 10, 15)})


@case("bug/wrapped_in_runtime_error", "bug", note="a TypeError wrapped by the tool in RuntimeError; the cause tells")
def bug_wrapped():
    try:
        len(5)
    except TypeError as e:
        raise RuntimeError("tool failed") from e


@case("wrapped/context_only", "bug", note="error raised inside an except block: the new error (KeyError) decides, the context is a mere timeout")
def wrapped_context():
    try:
        raise TimeoutError("timed out")
    except TimeoutError:
        return {}["fallback"]


@case("wrapped/permission_from_401", "permission_denied", needs=("httpx",))
def wrapped_401():
    import httpx
    with serve(401, {"error": "invalid api key"}) as s:
        try:
            httpx.get(s.url + "/", timeout=2).raise_for_status()
        except httpx.HTTPError as e:
            raise RuntimeError("crm lookup failed") from e


@case("wrapped/bare_exception_unknown", "unknown")
def wrapped_bare():
    raise Exception("something went wrong")


@case("wrapped/value_error_unknown", "unknown", also=("bug", "invalid_argument"), amb=True)
def wrapped_value():
    raise ValueError("unexpected response")


@case("wrapped/user_defined_business", "business_rejected", note="the tool's own exception; only the text speaks")
def wrapped_biz():
    class OrderError(Exception):
        pass
    raise OrderError("cannot cancel order 8841: it has already been shipped")


@case("wrapped/tenacity_retry_error", "transient", mhe="no", needs=("tenacity",),
      note="RetryError hides the last attempt; its text is a Future repr, the cause is the refused connection")
def wrapped_tenacity():
    import tenacity

    @tenacity.retry(stop=tenacity.stop_after_attempt(2), wait=tenacity.wait_none())
    def go():
        socket.create_connection(("127.0.0.1", closed_port()), timeout=1)
    go()

# ============================================================ filesystem


@case("fs/permission_denied", "permission_denied", origin="constructed")
def fs_eacces():
    import errno
    raise PermissionError(errno.EACCES, "Permission denied", "/etc/shadow")


@case("fs/operation_not_permitted", "permission_denied", origin="constructed")
def fs_eperm():
    import errno
    raise PermissionError(errno.EPERM, "Operation not permitted", "/srv/immutable/ledger.db")


@case("fs/not_a_directory", "invalid_argument", fields=("path",))
def fs_notdir():
    open("/etc/hostname/data.txt")


@case("fs/dir_not_empty", "business_rejected", also=("invalid_argument",), amb=True)
def fs_notempty():
    import os
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        open(d + "/a", "w").close()
        os.rmdir(d)


@case("fs/no_space", "resource_exhausted", note="really raised: /dev/full refuses every write")
def fs_enospc():
    with open("/dev/full", "w") as f:
        f.write("x" * 100000)
        f.flush()


@case("fs/read_only", "permission_denied", also=("resource_exhausted",), origin="constructed", note="EROFS")
def fs_erofs():
    import errno
    raise OSError(errno.EROFS, "Read-only file system", "/usr/share/app/state.json")


@case("fs/null_byte_path", "invalid_argument", fields=("path",), also=("bug",))
def fs_null():
    open("/srv/a\x00b")


@case("fs/io_error", "unknown", also=("resource_exhausted", "transient"), amb=True, origin="constructed", note="EIO: failing disk or network mount")
def fs_eio():
    import errno
    raise OSError(errno.EIO, "Input/output error", "/mnt/nfs/data.bin")


@case("fs/stale_handle", "transient", also=("unknown",), amb=True, origin="constructed", note="ESTALE on NFS: reopening usually works")
def fs_estale():
    import errno
    raise OSError(errno.ESTALE, "Stale file handle", "/mnt/nfs/data.bin")


@case("fs/lock_held", "transient", also=("business_rejected", "resource_exhausted"), amb=True, note="non-blocking flock held by another process")
def fs_lock():
    import fcntl
    import tempfile
    with tempfile.NamedTemporaryFile() as f, open(f.name) as g:
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case("fs/shutil_same_file", "invalid_argument", also=("bug",))
def fs_same():
    import shutil
    import tempfile
    with tempfile.NamedTemporaryFile() as f:
        shutil.copy(f.name, f.name)


@case("fs/bad_zip", "invalid_argument", also=("unknown",), amb=True, note="the file named by the model is not an archive")
def fs_zip():
    import io
    import zipfile
    zipfile.ZipFile(io.BytesIO(b"not a zip"))


@case("memory/memory_error", "resource_exhausted")
def mem_error():
    return b"x" * (1 << 62)


@case("memory/no_new_thread", "resource_exhausted", origin="constructed", note="the RuntimeError that threading raises when the limit is hit")
def mem_thread():
    raise RuntimeError("can't start new thread")


# ============================================================ subprocess


@case("proc/command_not_found", "permission_denied", also=("invalid_argument",), amb=True, note="the program is not installed: configuration; a program name from the model would be invalid_argument")
def pr_nf():
    import subprocess
    subprocess.run(["terraform-that-is-not-here", "apply"], check=True)


@case("proc/shell_127", "permission_denied", also=("invalid_argument",), amb=True)
def pr_127():
    import subprocess
    subprocess.run(["bash", "-c", "kubectl-not-here get pods"], check=True, capture_output=True, text=True)


@case("proc/not_executable", "permission_denied")
def pr_126():
    import os
    import subprocess
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        p = d + "/deploy.sh"
        with open(p, "w") as f:
            f.write("#!/bin/sh\necho hi\n")
        os.chmod(p, 0o644)
        subprocess.run([p], check=True)


@case("proc/exit_1_silent", "unknown")
def pr_1():
    import subprocess
    subprocess.run(["bash", "-c", "exit 1"], check=True, capture_output=True, text=True)


@case("proc/ls_missing_path", "invalid_argument", fields=("path",), also=())
def pr_ls():
    import subprocess
    subprocess.run(["ls", "/srv/no/such/dir"], check=True, capture_output=True, text=True)


@case("proc/python_traceback", "bug", note="exit 1 with a Python traceback on stderr")
def pr_tb():
    import subprocess
    import sys
    subprocess.run([sys.executable, "-c", "x = {}\nprint(x['total'])"], check=True, capture_output=True, text=True)


@case("proc/shell_syntax_error", "invalid_argument", also=("bug",), amb=True, fields=("command",), note="a script written by the model")
def pr_syntax():
    import subprocess
    subprocess.run(["bash", "-c", "if true; then echo x"], check=True, capture_output=True, text=True)


@case("proc/timeout", "in_doubt_timeout", mhe="maybe", note="the command ran for a while and was killed")
def pr_timeout():
    import subprocess
    subprocess.run(["sleep", "5"], timeout=0.1, check=True)


@case("proc/sigkill", "resource_exhausted", also=("cancelled", "unknown"), amb=True, mhe="maybe", note="-9: in practice mostly the OOM killer, but anyone can send it")
def pr_kill():
    import subprocess
    subprocess.run(["bash", "-c", "kill -9 $$"], check=True, capture_output=True, text=True)


@case("proc/sigterm", "cancelled", mhe="maybe", also=("unknown",), amb=True)
def pr_term():
    import subprocess
    subprocess.run(["bash", "-c", "kill -15 $$"], check=True, capture_output=True, text=True)


@case("proc/sigint", "cancelled", mhe="maybe")
def pr_int():
    import subprocess
    subprocess.run(["bash", "-c", "kill -2 $$; sleep 1"], check=True, capture_output=True, text=True)


@case("proc/segfault", "bug", mhe="maybe")
def pr_segv():
    import subprocess
    subprocess.run(["bash", "-c", "kill -11 $$"], check=True, capture_output=True, text=True)


@case("proc/exit_137", "resource_exhausted", also=("cancelled", "unknown"), amb=True, mhe="maybe", note="shell form of a SIGKILL")
def pr_137():
    import subprocess
    subprocess.run(["bash", "-c", "bash -c 'kill -9 $$'; exit $?"], check=True, capture_output=True, text=True)


@case("proc/timeout_util_124", "in_doubt_timeout", mhe="maybe", note="coreutils timeout: exit status 124")
def pr_124():
    import subprocess
    subprocess.run(["timeout", "0.1", "sleep", "5"], check=True, capture_output=True, text=True)


@case("proc/disk_full_stderr", "resource_exhausted")
def pr_full():
    import subprocess
    subprocess.run(["dd", "if=/dev/zero", "of=/dev/full", "bs=1k", "count=1"], check=True, capture_output=True, text=True)


@case("proc/curl_exit_7", "transient", mhe="no", note="curl: (7) failed to connect")
def pr_curl7():
    import subprocess
    subprocess.run(["curl", "-sS", f"http://127.0.0.1:{closed_port()}/"], check=True, capture_output=True, text=True)


@case("proc/curl_exit_6", "permission_denied", also=("transient", "invalid_argument"), mhe="no", amb=True, note="could not resolve host")
def pr_curl6():
    import subprocess
    subprocess.run(["curl", "-sS", "http://api.typo.invalid/"], check=True, capture_output=True, text=True)


@case("proc/curl_exit_22_http_503", "transient", mhe="no", note="curl -f: the status is only in stderr")
def pr_curl22():
    import subprocess
    with serve(503, "busy") as s:
        subprocess.run(["curl", "-fsS", s.url + "/"], check=True, capture_output=True, text=True)


@case("proc/sudo_password", "permission_denied", origin="constructed")
def pr_sudo():
    import subprocess
    raise subprocess.CalledProcessError(1, ["sudo", "-n", "systemctl", "restart", "nginx"],
                                        output="", stderr="sudo: a password is required\n")


@case("proc/terraform_state_lock", "transient", also=("business_rejected",), amb=True, origin="constructed")
def pr_tf():
    import subprocess
    raise subprocess.CalledProcessError(1, ["terraform", "apply"], output="",
                                        stderr="Error: Error acquiring the state lock\n\nError message: ConditionalCheckFailedException: The conditional request failed\nLock Info:\n  ID: 8f1c\n  Operation: OperationTypeApply\n  Who: ci@runner-7\n")


@case("proc/oom_in_node", "resource_exhausted", origin="constructed")
def pr_node():
    import subprocess
    raise subprocess.CalledProcessError(134, ["node", "build.js"], output="",
                                        stderr="FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n")


@case("proc/enospc_in_npm", "resource_exhausted", origin="constructed")
def pr_npm():
    import subprocess
    raise subprocess.CalledProcessError(228, ["npm", "ci"], output="",
                                        stderr="npm error code ENOSPC\nnpm error syscall write\nnpm error errno -28\nnpm error nospc ENOSPC: no space left on device, write\n")


@case("proc/ssh_exit_255_denied", "permission_denied", origin="constructed")
def pr_ssh():
    import subprocess
    raise subprocess.CalledProcessError(255, ["ssh", "deploy@web1", "uptime"], output="",
                                        stderr="deploy@web1: Permission denied (publickey).\n")


@case("proc/ssh_exit_255_closed", "in_doubt_timeout", also=("transient",), mhe="maybe", amb=True, origin="constructed",
      note="same exit status as a refused login; the remote command may have been running")
def pr_ssh2():
    import subprocess
    raise subprocess.CalledProcessError(255, ["ssh", "deploy@web1", "systemctl restart app"], output="",
                                        stderr="client_loop: send disconnect: Broken pipe\n")


@case("proc/docker_socket_denied", "permission_denied", origin="constructed")
def pr_docker2():
    import subprocess
    raise subprocess.CalledProcessError(1, ["docker", "ps"], output="",
                                        stderr="permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock\n")
