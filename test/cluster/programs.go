package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// moduleRoot is the nearest folder above the test that holds a go.mod.
func moduleRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", here)
		}
	}
}

// programs is the folder with etcd, kube-apiserver and localcluster.
func (c *Cluster) programs() (string, error) {
	dir := filepath.Join(c.root, "localcluster", "bin")
	for _, name := range []string{"etcd", "kube-apiserver", "localcluster"} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("localcluster/bin/%s is missing: build it with `make localcluster` (the first time takes 10 to 20 minutes)", name)
		}
	}
	return dir, nil
}

// launchWorkloads starts what makes Pods out of Deployments, and makes them
// Ready. It comes up by itself; tests see it by its effects.
func (c *Cluster) launchWorkloads(programs string) error {
	for _, verb := range []string{"controller-manager", "simulate"} {
		p, err := startProcess(filepath.Join(c.scratch, verb+".log"), filepath.Join(programs, "localcluster"), verb, "--kubeconfig="+c.Kubeconfig)
		if err != nil {
			return err
		}
		c.stop = append(c.stop, p.terminate)
	}
	return nil
}
