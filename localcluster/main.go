// Command localcluster is a Kubernetes control plane in one binary. By the name
// it is called it is etcd, kube-apiserver, kube-controller-manager or kubectl;
// called as localcluster it starts and stops them (see package command).
package main

import (
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"kro.run/kro/localcluster/internal/command"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(controllerManager(os.Args[1:]))
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err) // knows how to tell API errors, and exits
		}
	default:
		os.Exit(command.Main(command.Servers{ControllerManager: controllerManager}, os.Args[1:]))
	}
}

func controllerManager(args []string) int {
	cmd := controllers.NewControllerManagerCommand()
	cmd.SetArgs(args)
	return cli.Run(cmd)
}
