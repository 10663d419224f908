package command

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kro.run/kro/localcluster/internal/plane"
)

func down() *cobra.Command {
	var state string
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop everything that up has started; what is stored stays",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := plane.Down(cmd.Context(), state, reporter(cmd.OutOrStdout())); err != nil {
				return err
			}
			if purge {
				return os.RemoveAll(state)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", ".kro", "state folder")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove the state folder too")
	return cmd
}

func status() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the processes of a control plane",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSTATE\tPROCESS\tSINCE\tLOG")
			for _, s := range plane.Status(state) {
				how, pid, since := "stopped", "", ""
				switch {
				case s.Running:
					how, pid, since = "running", fmt.Sprint(s.PID), s.Since.Format(time.DateTime)
				case s.Died:
					how = "ended by itself"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, how, pid, since, s.Log)
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&state, "state", ".kro", "state folder")
	return cmd
}
