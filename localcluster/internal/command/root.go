package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kro.run/kro/localcluster/internal/objects"
	"kro.run/kro/localcluster/internal/plane"
)

// Servers are the programs that live in this binary beside its commands. They
// come from main, so that nothing else depends on the Kubernetes servers.
type Servers struct {
	// ControllerManager runs a kube-controller-manager with these arguments to its end.
	ControllerManager func(args []string) int
}

// Main runs the command line and gives the exit code of the process.
func Main(servers Servers, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:   "localcluster",
		Short: "A real Kubernetes control plane in one binary, with simulated nodes",
		Long: "localcluster runs etcd, kube-apiserver and kube-controller-manager as processes on loopback.\n" +
			"There is no node: Pods, load balancers and volumes are simulated.\n" +
			"Called as etcd, kube-apiserver, kube-controller-manager or kubectl it is that program.",
		SilenceUsage: true, SilenceErrors: true,
	}
	code := exitCode(0)
	root.AddCommand(up(), down(), status(), run(&code), simulate(), controllerManager(servers, &code))
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		return 1
	}
	return int(code)
}

// exitCode is what a command that runs another program ends with.
type exitCode int

// reporter writes what a plane reports, a line each.
func reporter(w io.Writer) plane.Report {
	return func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
}

// parts are the flags that say what a plane is made of and what is put on it.
type parts struct {
	state                        string
	crds, kro                    string
	kroFlags                     []string
	controllerManager, simulator bool
}

func (p *parts) flags(cmd *cobra.Command, state string) {
	f := cmd.Flags()
	f.StringVar(&p.state, "state", state, "state folder")
	f.StringVar(&p.crds, "crds", "", "folder of CRDs to install")
	f.StringVar(&p.kro, "kro", "", "kro binary whose controller to run")
	f.StringArrayVar(&p.kroFlags, "kro-flag", nil, "a further flag of `kro controller`; may be repeated")
	f.BoolVar(&p.controllerManager, "controller-manager", true, "run the kube-controller-manager")
	f.BoolVar(&p.simulator, "simulator", true, "run the simulator of nodes, load balancers and volumes")
}

// open takes the state folder. A plane of its own is a fresh one that does not
// get in the way of others.
func (p *parts) open(ctx context.Context, report plane.Report, ofItsOwn bool) (*plane.Plane, error) {
	programs, err := ownFolder()
	if err != nil {
		return nil, err
	}
	return plane.Open(ctx, p.state, plane.Options{
		Programs:          programs,
		ControllerManager: p.controllerManager, Simulator: p.simulator,
		AnyPorts: ofItsOwn, Fresh: ofItsOwn, KroFlags: p.kroFlags, Report: report, Now: time.Now,
	})
}

// start brings the plane up with CRDs and the kro controller on it.
func (p *parts) start(ctx context.Context, pl *plane.Plane, report plane.Report) error {
	if err := pl.Up(ctx); err != nil {
		return err
	}
	if p.crds != "" {
		if err := install(ctx, pl.Folder().Kubeconfig(), p.crds, report); err != nil {
			return err
		}
	}
	if p.kro == "" {
		return nil
	}
	if _, err := os.Stat(p.kro); err != nil {
		return fmt.Errorf("the kro binary is missing (make build makes it): %w", err)
	}
	return pl.Kro(ctx, p.kro)
}

func install(ctx context.Context, kubeconfig, folder string, report plane.Report) error {
	cluster, err := objects.Connect(kubeconfig)
	if err != nil {
		return err
	}
	crds, err := objects.Read(folder)
	if err != nil {
		return fmt.Errorf("read the CRDs: %w", err)
	}
	for _, crd := range crds {
		if err := cluster.Apply(ctx, crd, 30*time.Second); err != nil {
			return err
		}
	}
	for _, crd := range crds {
		if _, err := cluster.Await(ctx, crd, "Established", 30*time.Second); err != nil {
			return err
		}
	}
	report("%-24s %d installed from %s", "CRDs", len(crds), folder)
	return nil
}

// ownFolder is where this binary and its symlinks are.
func ownFolder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(self), name)); err != nil {
			return "", fmt.Errorf("the symlink %s beside %s is missing (make localcluster makes it): %w", name, self, err)
		}
	}
	return filepath.Dir(self), nil
}
