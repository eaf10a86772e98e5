package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	pid   int
	ended chan struct{} // closed when it was waited for
}

// begin starts the command on a thread that stays: where a child can ask for a
// signal at its parent's death (die), the parent is the thread.
func begin(cmd *exec.Cmd) (*process, error) {
	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer close(p.ended)
		die(cmd.SysProcAttr)
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// all are the server's process and its children, as far as the system tells.
// Each child is a session of its own.
func (p *process) all() []int {
	pids := []int{p.pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state parent ...: the name may hold anything but is the last in parentheses
		after := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(after) > 1 && after[1] == strconv.Itoa(p.pid) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (p *process) signal(sig syscall.Signal) []int {
	pids := p.all()
	for _, pid := range pids {
		syscall.Kill(pid, sig)
	}
	return pids
}

// kill ends all of them at once and waits until they are gone.
func (p *process) kill() {
	p.signal(syscall.SIGSTOP) // nobody forks meanwhile
	pids := p.signal(syscall.SIGKILL)
	<-p.ended
	for _, pid := range pids[1:] {
		for syscall.Kill(pid, 0) == nil { // orphans: whoever adopted them waits for them
			time.Sleep(time.Millisecond)
		}
	}
}

// stop asks for an orderly end, and insists when it does not come.
func (p *process) stop() {
	syscall.Kill(p.pid, syscall.SIGCONT)
	syscall.Kill(p.pid, syscall.SIGINT)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.kill()
	}
}
