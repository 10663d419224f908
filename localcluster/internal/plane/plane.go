package plane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Options say what a plane consists of.
type Options struct {
	// Programs is the folder that holds localcluster and its symlinks.
	Programs string
	// ControllerManager runs the kube-controller-manager, Simulator the simulator.
	ControllerManager, Simulator bool
	// AnyPorts takes free ports instead of the usual ones: for planes that live a short time beside others.
	AnyPorts bool
	// Fresh stops what runs in the folder and removes what is stored there first.
	Fresh bool
	// KroFlags are flags of `kro controller` beside those the plane gives.
	KroFlags []string
	// Report tells the user what happens. It must not be nil.
	Report Report
	// Now is the time, for certificates. It must not be nil.
	Now func() time.Time
}

// Plane is a control plane whose folder this command has to itself until Release.
type Plane struct {
	folder    Folder
	options   Options
	authority *authority
	admin     tls.Certificate
	ports     ports
	binaries  map[string]string // fingerprints by path
	release   func()
}

// Open takes the folder, mends what a crash has left in it and writes
// certificates. It starts nothing. A context that ends stops the emptying of a
// Fresh folder, not a wait for another command.
func Open(ctx context.Context, folder string, options Options) (_ *Plane, err error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	p := &Plane{folder: Folder(absolute), options: options, binaries: map[string]string{}}
	if err := p.folder.prepare(); err != nil {
		return nil, err
	}
	if p.release, err = p.folder.exclusive(options.Report); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if options.Fresh {
		if err := p.folder.empty(ctx); err != nil {
			return nil, fmt.Errorf("empty the state folder %s: %w", folder, err)
		}
	}
	var why string
	if p.authority, why, err = authorityIn(p.folder.path("certificates"), options.Now()); err != nil {
		return nil, err
	}
	if why != "" {
		options.Report("certificates made anew: %s", why)
	}
	p.ports = loadPorts(p.folder.path("ports.json"))
	return p, nil
}

// Release lets other commands work on the folder. The processes go on.
func (p *Plane) Release() { p.release() }

// Quiet makes the plane report nothing from here on.
func (p *Plane) Quiet() *Plane {
	p.options.Report = func(string, ...any) {}
	return p
}

// Folder is where the plane lives.
func (p *Plane) Folder() Folder { return p.folder }

func (f Folder) process(name string) process {
	return process{file: f.path("run", name), log: f.Log(name)}
}

// Up starts what is missing of the control plane, and waits until the API
// answers.
func (p *Plane) Up(ctx context.Context) error {
	all := p.components()
	if err := p.settlePorts(all); err != nil {
		return err
	}
	if err := p.writeKubeconfigs(p.options.Now()); err != nil {
		return err
	}
	if err := p.stopUnwanted(ctx); err != nil {
		return err
	}
	for _, c := range p.components() { // again: their arguments name the ports
		err := p.ensure(ctx, c)
		if err != nil && c.Name == "etcd" {
			err = p.setStoreAside(ctx, c, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Kro starts the kro controller, or restarts it when its binary has changed.
func (p *Plane) Kro(ctx context.Context, binary string) error {
	absolute, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if err := p.settlePorts([]Component{p.kro(absolute)}); err != nil {
		return err
	}
	return p.ensure(ctx, p.kro(absolute))
}

// settlePorts finds ports for the components that do not run.
func (p *Plane) settlePorts(components []Component) error {
	for _, c := range components {
		if _, running := p.folder.process(c.Name).alive(); running && !slices.ContainsFunc(c.ports, func(of port) bool { return p.ports[of] == 0 }) {
			continue
		}
		for _, of := range c.ports {
			if err := p.ports.settle(of, !p.options.AnyPorts, p.options.Report); err != nil {
				return err
			}
		}
	}
	if err := p.ports.save(p.folder.path("ports.json")); err != nil {
		return fmt.Errorf("note down the ports: %w", err)
	}
	return nil
}

// stopUnwanted ends components that ran before and are not asked for any more.
func (p *Plane) stopUnwanted(ctx context.Context) error {
	unwanted := map[string]bool{"kube-controller-manager": !p.options.ControllerManager, "simulator": !p.options.Simulator}
	for _, name := range stopOrder {
		if !unwanted[name] {
			continue
		}
		if err := p.folder.stopFor(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ensure makes one component run as it should and waits until it is ready.
func (p *Plane) ensure(ctx context.Context, c Component) error {
	wanted, err := p.fingerprint(c)
	if err != nil {
		return err
	}
	process := p.folder.process(c.Name)
	now, running := process.alive()
	switch {
	case running && now.Fingerprint == wanted && p.isReady(ctx, c):
		p.options.Report("%-24s runs (process %d)", c.Name, now.PID)
		return nil
	case running:
		why := "it runs an older program or configuration"
		if now.Fingerprint == wanted {
			why = "it does not answer"
		}
		p.options.Report("%-24s is restarted: %s", c.Name, why)
		if err := p.folder.stopFor(ctx, c.Name); err != nil {
			return err
		}
	case process.died():
		p.options.Report("%-24s had ended by itself; its last words, in %s:\n%s", c.Name, process.log+".1", process.lastWords(3))
	}
	begin := time.Now()
	if err := process.start(c, wanted, p.options.Now()); err != nil {
		return err
	}
	if err := p.await(ctx, c, process); err != nil {
		return err
	}
	now, _ = process.alive()
	p.options.Report("%-24s started in %.1f s (process %d)", c.Name, time.Since(begin).Seconds(), now.PID)
	return nil
}

func (p *Plane) isReady(ctx context.Context, c Component) bool {
	return c.ready == nil || poll(ctx, 5*time.Second, c.ready) == nil
}

// await waits until a fresh process is ready. One that ends on the way fails at once.
func (p *Plane) await(ctx context.Context, c Component, process process) error {
	var ended bool
	err := poll(ctx, c.patience, func(ctx context.Context) error {
		if _, running := process.alive(); !running {
			ended = true
			return nil
		}
		if c.ready == nil {
			return nil
		}
		return c.ready(ctx)
	})
	switch {
	case ended:
		err = errEnded
	case err == nil:
		return nil
	}
	return fmt.Errorf("%s did not become ready: %w; the end of %s:\n%s", c.Name, err, process.log, process.lastWords(8))
}

var errEnded = errors.New("the process ended")

// setStoreAside handles an etcd that ends at once although its ports were free:
// its store is damaged, as it may be after a crash of a machine (it does not
// fsync). The store is kept beside for whoever needs it.
func (p *Plane) setStoreAside(ctx context.Context, etcd Component, cause error) error {
	store := p.folder.path("etcd")
	if !errors.Is(cause, errEnded) || !exists(store) {
		return cause
	}
	aside := store + ".damaged-" + p.options.Now().UTC().Format("20060102-150405")
	if err := os.Rename(store, aside); err != nil {
		return errors.Join(cause, err)
	}
	// The others remember what the old store held.
	if err := p.folder.stopFor(ctx, etcd.Name); err != nil {
		return errors.Join(cause, err)
	}
	p.options.Report("etcd cannot open its store, which is now in %s; starting with an empty one.\n  %v", aside, cause)
	return p.ensure(ctx, etcd)
}

// stopWithin is how long a component may take to end when asked to.
const stopWithin = 20 * time.Second

// stopOrder has whoever writes before whoever stores.
var stopOrder = []string{"kro", "simulator", "kube-controller-manager", "kube-apiserver", "etcd"}

// Down ends every process of the plane, and keeps what it has stored.
func (p *Plane) Down(ctx context.Context) error { return p.folder.stopAll(ctx, p.options.Report) }

// Down ends every process of the plane in a folder that no command works on.
func Down(ctx context.Context, folder string, report Report) error {
	f := Folder(folder)
	if !exists(f.path("run")) {
		report("nothing runs: %s is no state folder", folder)
		return nil
	}
	release, err := f.exclusive(report)
	if err != nil {
		return err
	}
	defer release()
	return f.stopAll(ctx, report)
}

// stopFor ends a component. Those that write to a server end before it: without
// it they would keep its connections open, or end in a worse way.
func (f Folder) stopFor(ctx context.Context, name string) error {
	names := []string{name}
	if name == "etcd" || name == "kube-apiserver" {
		names = stopOrder[:slices.Index(stopOrder, name)+1]
	}
	for _, name := range names {
		if _, err := f.process(name).stop(ctx, stopWithin); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	return nil
}

func (f Folder) stopAll(ctx context.Context, report Report) error {
	var failures []error
	stopped := 0
	for _, name := range stopOrder {
		was, err := f.process(name).stop(ctx, stopWithin)
		if err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", name, err))
			continue
		}
		if was {
			stopped++
			report("%-24s stopped", name)
		}
	}
	if stopped == 0 && len(failures) == 0 {
		report("nothing runs in %s", f)
	}
	return errors.Join(failures...)
}

// State is what Status tells about one component.
type State struct {
	Name    string
	Running bool
	Died    bool // ended without being asked to
	PID     int
	Since   time.Time
	Log     string
}

// Status looks at the processes of a folder without taking it.
func Status(folder string) []State {
	var states []State
	for _, name := range slices.Backward(stopOrder) {
		process := Folder(folder).process(name)
		r, running := process.alive()
		states = append(states, State{Name: name, Running: running, Died: !running && exists(process.file), PID: r.PID, Since: r.Started, Log: process.log})
	}
	return states
}
