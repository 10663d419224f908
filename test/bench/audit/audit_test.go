package audit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const at = `"stageTimestamp":"2026-08-19T10:00:00.123456Z"`

// line is an event of a request by kro.
func line(verb, resource, subresource string, code int) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","requestURI":"/u","verb":%q,`+
		`"user":{"username":"kro","groups":["system:masters"]},"objectRef":{"resource":%q,"subresource":%q,"name":"x","apiVersion":"v1"},"responseStatus":{"code":%d},%s}`+"\n",
		verb, resource, subresource, code, at)
}

func TestCounts(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Counts
	}{
		"Resources": {
			reason: "requests are counted by verb and resource, subresources on their own",
			text:   line("patch", "configmaps", "", 200) + line("patch", "configmaps", "", 201) + line("patch", "apps", "status", 200),
			want:   Counts{Calls: map[Call]int{{"patch", "configmaps"}: 2, {"patch", "apps/status"}: 1}},
		},
		"WatchesAndLeases": {
			reason: "what lasts or ticks is left out",
			text:   line("watch", "configmaps", "", 200) + line("update", "leases", "", 200) + line("get", "leases", "", 200),
			want:   Counts{},
		},
		"Failures": {
			reason: "a refused request is a request",
			text:   line("patch", "configmaps", "", 409) + line("get", "configmaps", "", 404),
			want:   Counts{Calls: map[Call]int{{"patch", "configmaps"}: 1, {"get", "configmaps"}: 1}, Failed: 2},
		},
		"NoResource": {
			reason: "discovery and OpenAPI go by the first part of the path",
			text: `{"stage":"ResponseComplete","verb":"get","requestURI":"/openapi/v3/apis/apps/v1?hash=A","user":{"username":"kro"},` + at + "}\n" +
				`{"stage":"ResponseComplete","verb":"get","requestURI":"/apis","user":{"username":"kro"},` + at + "}\n",
			want: Counts{Calls: map[Call]int{{"get", "/openapi"}: 1, {"get", "/apis"}: 1}},
		},
		"EarlierStages": {
			reason: "one request is counted once, when it has been answered",
			text: `{"stage":"RequestReceived","verb":"list","requestURI":"/u","user":{"username":"kro"},"objectRef":{"resource":"pods"},` + at + "}\n" +
				line("list", "pods", "", 200),
			want: Counts{Calls: map[Call]int{{"list", "pods"}: 1}},
		},
		"Others": {
			reason: "what other users send is not kro's",
			text:   `{"stage":"ResponseComplete","verb":"list","requestURI":"/u","user":{"username":"driver"},"objectRef":{"resource":"pods"},` + at + "}\n",
			want:   Counts{},
		},
		"NoEvent": {
			reason: "a line that is no event is skipped",
			text:   "goroutine 1 [running]:\n" + line("get", "pods", "", 200),
			want:   Counts{Calls: map[Call]int{{"get", "pods"}: 1}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			whole := &Log{}
			if _, err := whole.Write([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, whole.Of("kro")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			pieces := &Log{}
			for i := range len(c.text) {
				if n, err := pieces.Write([]byte(c.text[i : i+1])); n != 1 || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if diff := cmp.Diff(c.want, pieces.Of("kro")); diff != "" {
				t.Errorf("written byte by byte: %s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestCountsBetweenTwoMoments(t *testing.T) {
	log := &Log{}
	send := func(text string) {
		if _, err := log.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send(line("patch", "configmaps", "", 200) + line("get", "pods", "", 404))
	before := log.Of("kro")
	send(line("patch", "configmaps", "", 200) + line("delete", "pods", "", 409) + line("list", "pods", "", 200))
	added := log.Of("kro").Since(before)
	if added.Total() != 3 || added.Writes() != 2 || added.Failed != 1 {
		t.Errorf("total %d, writes %d, failed %d; want 3, 2, 1", added.Total(), added.Writes(), added.Failed)
	}
	if want := "1 delete pods, 1 list pods, 1 patch configmaps, (1 refused)"; added.String() != want {
		t.Errorf("String() = %q, want %q", added, want)
	}
	if diff := cmp.Diff(log.Of("kro"), before.Plus(added)); diff != "" {
		t.Errorf("before plus what was added is not all (-want +got):\n%s", diff)
	}
	request, write := log.Last("kro")
	if want := time.Date(2026, 8, 19, 10, 0, 0, 123456000, time.UTC); !request.Equal(want) || !write.Equal(want) {
		t.Errorf("last request %s, last write %s", request, write)
	}
}

func TestABarrierPassesWhenItsRequestShows(t *testing.T) {
	log := &Log{}
	err := log.Barrier(t.Context(), "/api/v1/barrier-1", func(context.Context) error {
		_, err := log.Write([]byte(`{"stage":"ResponseComplete","verb":"get","requestURI":"/api/v1/barrier-1","user":{"username":"driver"},` + at + "}\n"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	if err := log.Barrier(t.Context(), "/b", func(context.Context) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a request that fails: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Barrier(gone, "/c", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that never shows: %v", err)
	}
}
