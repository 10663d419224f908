package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kro.run/kro/internal/version"
)

// Main runs kro with the arguments of the process, without its name, and returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(doubleDashes(root, args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kro",
		Short:         "kro turns graphs of Kubernetes objects into APIs",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newController(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Version())
			return err
		},
	}
}
