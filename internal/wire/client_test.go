package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// deployment is an answer as the API server gives it.
const deployment = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"default","uid":"0b34c0c5-5e3c-4f0e-9d0a-0c6d4c4b6a0e","resourceVersion":"1234","generation":1,
"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","kro.run/owned":"true"},"managedFields":[{"manager":"kro.run/applyset","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z",
"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:app":{},"f:kro.run/owned":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},
"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}}]},
"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx:1.29","ports":[{"containerPort":80,
"protocol":"TCP"}],"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always",
"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%",
"maxSurge":"25%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{}}`

var deployments = kschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

func serve(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestClientReadsAnswersAndErrors(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/web") {
			fmt.Fprint(w, deployment)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"deployments.apps \"other\" not found","reason":"NotFound","code":404}`)
	})
	client, err := NewClient(cfg, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	in := client.Resource(deployments).Namespace("default")
	object, err := in.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); replicas != 3 || len(object.GetManagedFields()) != 1 {
		t.Errorf("read %d replicas and %d managers", replicas, len(object.GetManagedFields()))
	}
	_, err = in.Get(t.Context(), "other", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `deployments.apps "other" not found`) {
		t.Errorf("the error is %v", err)
	}
}

func TestWatchClientReadsEvents(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		compact := strings.ReplaceAll(deployment, "\n", "")
		fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n{\"type\":\"MODIFIED\",\"object\":%s}\n", compact, strings.Replace(compact, "1234", "1235", 1))
		fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}}`)
	})
	client, err := NewWatchClient(cfg, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := client.Resource(deployments).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	var seen []string
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) {
				t.Errorf("the error is %v", err)
			}
			seen = append(seen, "error")
			continue
		}
		object := event.Object.(*unstructured.Unstructured)
		if object.GetManagedFields() != nil {
			t.Error("an event has managedFields")
		}
		seen = append(seen, object.GetName()+" "+object.GetResourceVersion())
	}
	if got, want := strings.Join(seen, ", "), "web 1234, web 1235, error"; got != want {
		t.Errorf("saw %s, not %s", got, want)
	}
}

func TestFramesAreCutWhereValuesEnd(t *testing.T) {
	const stream = "{\"a\":\"}{\\\"\"}\n {\"b\":[1,2]}{\"c\":\"\xff\"}"
	for name, reader := range map[string]io.Reader{
		"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream)), "with its end": iotest.DataErrReader(strings.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			frames := newFrames(io.NopCloser(reader))
			var got []string
			for {
				frame, err := readFrame(frames)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, frame)
			}
			want := []string{`{"a":"}{\""}`, `{"b":[1,2]}`, "{\"c\":\"\xff\"}"}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("got %q, not %q", got, want)
			}
		})
	}
}

// readFrame reads one frame through a buffer that is too small.
func readFrame(r io.Reader) (string, error) {
	var frame []byte
	for {
		part := make([]byte, 3)
		n, err := r.Read(part)
		frame = append(frame, part[:n]...)
		if !errors.Is(err, io.ErrShortBuffer) {
			return string(frame), err
		}
	}
}

func TestBrokenStreamsSayHow(t *testing.T) {
	broken := errors.New("read: connection reset by peer")
	for name, c := range map[string]struct {
		stream io.Reader
		want   error
	}{
		"closed between values": {strings.NewReader("{}"), io.EOF},
		"closed in a value":     {strings.NewReader(`{}{"a":`), io.ErrUnexpectedEOF},
		"broken between values": {io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(broken)), broken},
		"broken in a value":     {io.MultiReader(strings.NewReader(`{}{"a":`), iotest.ErrReader(broken)), broken},
	} {
		t.Run(name, func(t *testing.T) {
			frames := newFrames(io.NopCloser(c.stream))
			if _, err := readFrame(frames); err != nil {
				t.Fatal(err)
			}
			if _, err := readFrame(frames); err != c.want {
				t.Errorf("the error is %v, not %v", err, c.want)
			}
		})
	}
}
