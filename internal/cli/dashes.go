package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// doubleDashes rewrites -long-flag to --long-flag, because manifests for other releases of the controller use Go's own flag package, which takes
// both. Only flags that the command has are rewritten, and nothing after a lone --.
func doubleDashes(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if arg == "--" {
			copy(out[i:], args[i:])
			return out
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' {
			continue
		}
		name, _, _ := strings.Cut(arg[1:], "=")
		if cmd.Flags().Lookup(name) != nil {
			out[i] = "-" + arg
		}
	}
	return out
}
