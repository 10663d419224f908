package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	internalv1alpha1 "kro.run/kro/api/internal.kro.run/v1alpha1"
	"kro.run/kro/api/v1alpha1"
)

// Environment is the variable that names the kubeconfig of a control plane that
// runs already.
const Environment = "KUBECONFIG_OF_TESTS"

// Cluster is the control plane of this test binary.
type Cluster struct {
	// Config reaches the API server as an administrator.
	Config *rest.Config
	// Kubeconfig is a file that says the same.
	Kubeconfig string
	// Client knows the types of Kubernetes, CRDs and kro, and reads without a cache.
	Client client.Client

	root    string // of the main module
	scratch string // removed at the end
	kro     kroBinary
	stop    []func() error // in reverse
}

var shared *Cluster

// Main starts the control plane, runs the tests and stops it. It gives the exit
// code of the process.
func Main(m *testing.M) int {
	c, err := start()
	if err == nil {
		shared = c
		code := m.Run()
		if err = c.close(); err == nil {
			return code
		}
	} else if c != nil {
		err = errors.Join(err, c.close())
	}
	fmt.Fprintln(os.Stderr, "test cluster:", err)
	return 1
}

// Of gives the control plane. The test package must call Main from its TestMain.
func Of(t testing.TB) *Cluster {
	t.Helper()
	if shared == nil {
		t.Fatal("no control plane: the test package has no `func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }`")
	}
	return shared
}

// start returns what has been started together with an error, to be closed.
func start() (*Cluster, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "kro-test-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{root: root, scratch: scratch}
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	if running := os.Getenv(Environment); running != "" {
		err = c.join(environment, running)
	} else {
		err = c.launch(environment)
	}
	if err != nil {
		return c, err
	}
	scheme, err := newScheme()
	if err != nil {
		return c, err
	}
	c.Client, err = client.New(c.Config, client.Options{Scheme: scheme})
	return c, err
}

// join uses a control plane that runs already.
func (c *Cluster) join(environment *envtest.Environment, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", kubeconfig, Environment, err)
	}
	config.QPS = -1 // the server sets the pace
	existing := true
	environment.UseExistingCluster, environment.Config = &existing, config
	if c.Config, err = environment.Start(); err != nil {
		return fmt.Errorf("use the control plane of %s: %w", kubeconfig, err)
	}
	c.Kubeconfig = kubeconfig
	return nil
}

// launch starts a control plane for this test binary.
func (c *Cluster) launch(environment *envtest.Environment) error {
	programs, err := c.programs()
	if err != nil {
		return err
	}
	environment.BinaryAssetsDirectory = programs
	flags := environment.ControlPlane.GetAPIServer().Configure()
	flags.Set("service-cluster-ip-range", "10.96.0.0/12")
	flags.Set("advertise-address", "127.0.0.1")
	flags.Set("endpoint-reconciler-type", "none")
	environment.ControlPlane.Etcd = &envtest.Etcd{}
	environment.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	if c.Config, err = environment.Start(); err != nil {
		return fmt.Errorf("start a control plane with the programs in %s: %w", programs, err)
	}
	c.stop = append(c.stop, environment.Stop)
	c.Config.QPS = -1
	c.Kubeconfig = filepath.Join(c.scratch, "kubeconfig")
	if err := os.WriteFile(c.Kubeconfig, environment.KubeConfig, 0o600); err != nil {
		return err
	}
	return c.launchWorkloads(programs)
}

func (c *Cluster) close() error {
	var failures []error
	for i := len(c.stop) - 1; i >= 0; i-- {
		failures = append(failures, c.stop[i]())
	}
	return errors.Join(append(failures, os.RemoveAll(c.scratch))...)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, internalv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
