//! The system-call filter. It refuses what would reach a reserved port despite Landlock, or a process
//! outside despite its scopes. Each refusal looks like a kernel without the feature, so that programs
//! fall back.

use std::io;

use nix::libc;
use seccompiler::sock_filter;

/// A call that is refused, if all conditions hold.
struct DeniedSyscall {
    call: libc::c_long,
    conditions: &'static [ArgumentCondition],
    /// The error it fails with; 0 pretends success.
    errno: i32,
}

/// What an argument must be. Arguments that the kernel reads as `int` have 32 bits: what stands in
/// the others is ignored by both.
enum ArgumentCondition {
    /// The lower half of the argument with this index equals this.
    Is(u32, u32),
    /// The lower half has one of these bits.
    HasBits(u32, u32),
    /// The upper half has one of these bits.
    HasUpperBits(u32, u32),
}

use ArgumentCondition::{HasBits, HasUpperBits, Is};

const AF_SMC: u32 = 43;
const IPPROTO_SMC: u32 = 256;
const IPPROTO_MPTCP: u32 = 262;
const MSG_FASTOPEN: u32 = 0x2000_0000;
const PR_SET_DUMPABLE: u32 = 4;
const SOL_IP: u32 = 0;
const IP_LOCAL_PORT_RANGE: u32 = 51;
const SOL_TCP: u32 = 6;
const TCP_ULP: u32 = 31;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const ALL: u32 = u32::MAX;

const REFUSED: &[DeniedSyscall] = &[
    // Protocols over TCP that Landlock does not know.
    refused(
        libc::SYS_socket,
        &[Is(2, IPPROTO_MPTCP)],
        libc::EPROTONOSUPPORT,
    ),
    refused(
        libc::SYS_socket,
        &[Is(2, IPPROTO_SMC)],
        libc::EPROTONOSUPPORT,
    ),
    refused(libc::SYS_socket, &[Is(0, AF_SMC)], libc::EPROTONOSUPPORT),
    // Another protocol for a socket that is there.
    refused(
        libc::SYS_setsockopt,
        &[Is(1, SOL_TCP), Is(2, TCP_ULP)],
        libc::ENOENT,
    ),
    // Choosing the port that the system is to choose, which may be a reserved one.
    refused(
        libc::SYS_setsockopt,
        &[Is(1, SOL_IP), Is(2, IP_LOCAL_PORT_RANGE)],
        libc::ENOPROTOOPT,
    ),
    // Connecting by sending, which Landlock does not see.
    refused(
        libc::SYS_sendto,
        &[HasBits(3, MSG_FASTOPEN)],
        libc::EOPNOTSUPP,
    ),
    refused(
        libc::SYS_sendmsg,
        &[HasBits(2, MSG_FASTOPEN)],
        libc::EOPNOTSUPP,
    ),
    refused(
        libc::SYS_sendmmsg,
        &[HasBits(3, MSG_FASTOPEN)],
        libc::EOPNOTSUPP,
    ),
    // Calls that no filter sees.
    refused(libc::SYS_io_uring_setup, &[], libc::ENOSYS),
    refused(libc::SYS_io_uring_enter, &[], libc::ENOSYS),
    refused(libc::SYS_io_uring_register, &[], libc::ENOSYS),
    // New limits of another process, which can end it.
    refused(
        libc::SYS_prlimit64,
        &[HasBits(0, ALL), HasBits(2, ALL)],
        libc::EPERM,
    ),
    refused(
        libc::SYS_prlimit64,
        &[HasBits(0, ALL), HasUpperBits(2, ALL)],
        libc::EPERM,
    ),
    // Typing into somebody's terminal.
    refused(libc::SYS_ioctl, &[Is(1, TIOCSTI)], libc::EPERM),
    refused(libc::SYS_ioctl, &[Is(1, TIOCLINUX)], libc::EPERM),
    // Hiding from the server. Some programs end when they are told that this failed.
    refused(libc::SYS_prctl, &[Is(0, PR_SET_DUMPABLE), Is(1, 0)], 0),
];

const fn refused(
    call: libc::c_long,
    conditions: &'static [ArgumentCondition],
    errno: i32,
) -> DeniedSyscall {
    DeniedSyscall {
        call,
        conditions,
        errno,
    }
}

/// Filters the calls of this thread and of all that it starts.
pub(in crate::enclosure) fn filter() -> io::Result<()> {
    let arch = ARCH.ok_or(io::ErrorKind::Unsupported)?;
    seccompiler::apply_filter(&program(arch)).map_err(io::Error::other)
}

/// The architecture as the filter is told it (`linux/audit.h`).
const ARCH: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};
/// Numbers of the x32 calls of x86-64 begin here; other architectures have no call so high.
const X32: u32 = 0x4000_0000;

// Where a filter finds what it is told (`struct seccomp_data`, little-endian).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

// Instructions (`linux/filter.h`).
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_BITS: u16 = 0x45;
const ANSWER: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;

fn instruction(code: u16, value: u32) -> sock_filter {
    jump(code, value, (0, 0))
}

/// A jump over so many instructions when its condition holds, and so many when it does not.
fn jump(code: u16, value: u32, (holds, fails): (u8, u8)) -> sock_filter {
    sock_filter {
        code,
        jt: holds,
        jf: fails,
        k: value,
    }
}

fn fail_with(errno: i32) -> sock_filter {
    // Numbers of errors are small and not negative.
    instruction(ANSWER, ERRNO | errno.unsigned_abs())
}

fn program(arch: u32) -> Vec<sock_filter> {
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        jump(IF_EQUAL, arch, (1, 0)),
        fail_with(libc::ENOSYS),
        instruction(LOAD, NUMBER),
        jump(IF_AT_LEAST, X32, (0, 1)),
        fail_with(libc::ENOSYS),
    ];
    for refused in REFUSED {
        program.extend(rule(refused));
    }
    program.push(instruction(ANSWER, ALLOW));
    program
}

/// Answers the call if it is this one and all conditions hold, else goes on behind.
fn rule(refused: &DeniedSyscall) -> Vec<sock_filter> {
    // Numbers of calls are small and not negative.
    let number = u32::try_from(refused.call).unwrap_or(u32::MAX);
    let mut tests = vec![(NUMBER, IF_EQUAL, number)];
    tests.extend(refused.conditions.iter().map(|condition| match condition {
        Is(index, value) => (ARGUMENTS + 8 * index, IF_EQUAL, *value),
        HasBits(index, bits) => (ARGUMENTS + 8 * index, IF_BITS, *bits),
        HasUpperBits(index, bits) => (ARGUMENTS + 8 * index + 4, IF_BITS, *bits),
    }));
    let mut rule = Vec::new();
    for (place, (offset, test, value)) in tests.iter().enumerate() {
        // What is left of the rule: a load and a jump for each further test, and the answer.
        let rest = 2 * (tests.len() - place - 1) + 1;
        rule.push(instruction(LOAD, *offset));
        rule.push(jump(
            *test,
            *value,
            (0, u8::try_from(rest).unwrap_or(u8::MAX)),
        ));
    }
    rule.push(fail_with(refused.errno));
    rule
}
