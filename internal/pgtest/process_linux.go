package pgtest

import "syscall"

// die makes a child end when the thread that started it does: an immediate
// shutdown, which leaves no shared memory behind.
func die(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
