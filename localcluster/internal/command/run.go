package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func run(code *exitCode) *cobra.Command {
	var p parts
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command against a fresh control plane of its own, then stop that plane",
		Long: "run starts an empty control plane on free ports, sets KUBECONFIG, runs the command and ends with its exit code.\n" +
			"The text {kubeconfig} in the arguments becomes the path of the kubeconfig.\n" +
			"The state folder is emptied first and kept afterwards, for its logs.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			report := reporter(cmd.ErrOrStderr())
			pl, err := p.open(cmd.Context(), report, true)
			if err != nil {
				return err
			}
			defer pl.Release()
			defer func() {
				// Quietly: what the command printed last stays the last line.
				err = errors.Join(err, pl.Quiet().Down(context.WithoutCancel(cmd.Context())))
			}()
			if err := p.start(cmd.Context(), pl, report); err != nil {
				return err
			}
			*code, err = execute(cmd, args, pl.Folder().Kubeconfig())
			if dead := deaths(p.state); strings.Contains(dead, "\n") {
				report("%s", dead)
			}
			return err
		},
	}
	p.flags(cmd, ".kro/scratch")
	return cmd
}

func execute(cmd *cobra.Command, args []string, kubeconfig string) (exitCode, error) {
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{kubeconfig}", kubeconfig)
	}
	child := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 20 * time.Second
	err := child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitCode(exit.ExitCode()), nil
	}
	if err != nil {
		return 1, fmt.Errorf("run %s: %w", args[0], err)
	}
	return 0, nil
}
