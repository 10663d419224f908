// Package cluster gives tests a real API server. The tests under test/ use it;
// unit tests do not, they need no server.
//
// A test package starts it in TestMain and finds it in every test:
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	func TestDeployment(t *testing.T) {
//		c := cluster.Of(t)
//		ns := c.Namespace(t)
//		c.Apply(t, object)
//		cluster.Eventually(t, "the Deployment is available", func(ctx context.Context) error { ... })
//	}
//
// There is one control plane per run of the tests: that of KUBECONFIG_OF_TESTS
// when it is set (make test starts one for all packages), else one that envtest
// starts for the test binary. Both have the CRDs of kro, a controller manager and
// the simulator of nodes, load balancers and volumes; no test starts or stops
// those. The kro controller is not running: a test that wants it calls Kro, which
// runs the real binary as a process that may be killed and started again.
//
// The servers come from the module localcluster, as a binary; `make localcluster`
// builds it.
package cluster
