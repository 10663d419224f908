package command

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kro.run/kro/localcluster/internal/plane"
	"kro.run/kro/localcluster/internal/simulator"
)

func simulate() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate nodes, load balancers and volumes for the cluster of a kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			config.QPS = -1 // loopback: the server sets the pace
			config.UserAgent = "localcluster-simulator"
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			return simulator.Run(cmd.Context(), client)
		},
	}
	requireKubeconfig(cmd, &kubeconfig)
	return cmd
}

func controllerManager(servers Servers, code *exitCode) *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "controller-manager [-- FLAG...]",
		Short: "Run a kube-controller-manager without nodes for the cluster of a kubeconfig",
		RunE: func(_ *cobra.Command, args []string) error {
			// It ends by the signal itself, as it does when called by its own name.
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			*code = exitCode(servers.ControllerManager(plane.ControllerManagerArgs(kubeconfig, args...)))
			return nil
		},
	}
	requireKubeconfig(cmd, &kubeconfig)
	return cmd
}

func requireKubeconfig(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "kubeconfig", "", "kubeconfig file")
	if err := cmd.MarkFlagRequired("kubeconfig"); err != nil {
		cmd.Long += "\n" + err.Error() // only for a flag that does not exist
	}
}
