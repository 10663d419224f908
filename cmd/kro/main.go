// Command kro is the controller and the tools around it.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"kro.run/kro/internal/cli"
)

func main() {
	os.Exit(cli.Main(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}
