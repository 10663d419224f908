package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kro.run/kro/api/v1alpha1"
	"kro.run/kro/graph"
	"kro.run/kro/schema"
	"kro.run/kro/test/bench/client"
)

func TestTheDefinitionsCompileAndSayTheirRevision(t *testing.T) {
	for _, revision := range []int{0, 1, 42} {
		t.Run(fmt.Sprint(revision), func(t *testing.T) {
			text := []byte(definitionText(revision))
			var definition v1alpha1.ResourceGraphDefinition
			if err := yaml.UnmarshalStrict(text, &definition); err != nil {
				t.Fatal(err)
			}
			program, faults := graph.Compile(graph.FromDefinition(definition.Name, &definition.Spec), graph.Env{Kinds: schema.Embedded()})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if want := 6 + revision%2; len(program.Nodes) != want {
				t.Errorf("it has %d nodes, want %d", len(program.Nodes), want)
			}
			var item client.Item
			if err := yaml.Unmarshal(text, &item); err != nil {
				t.Fatal(err)
			}
			if got, err := revisionOf(item); err != nil || got != revision {
				t.Errorf("revisionOf = %d, %v", got, err)
			}
		})
	}
	if _, err := revisionOf(client.Item{}); err == nil {
		t.Error("a definition without a revision was read")
	}
}

func TestGraphsCompileAndSayWhatTheyAreMadeFrom(t *testing.T) {
	spec := appSpec{Value: "v", Replicas: 2, Extra: true, Entries: []string{"a", "c"}}
	for _, revision := range []int{0, 1} {
		text, err := yaml.Marshal(graphObject(9, revision, spec))
		if err != nil {
			t.Fatal(err)
		}
		var g v1alpha1.Graph
		if err := yaml.UnmarshalStrict(text, &g); err != nil {
			t.Fatal(err)
		}
		program, faults := graph.Compile(graph.FromGraph(g.Name, namespace, &g.Spec), graph.Env{Kinds: schema.Embedded()})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if want := 7 + revision; len(program.Nodes) != want {
			t.Errorf("it has %d nodes, want %d", len(program.Nodes), want)
		}
		var stored graphItem
		if err := yaml.Unmarshal(text, &stored); err != nil {
			t.Fatal(err)
		}
		a, err := stored.instance()
		if err != nil {
			t.Fatal(err)
		}
		if !a.graph || a.revision != revision || a.Metadata.Name != appName(9) || !cmp.Equal(a.Spec, spec) {
			t.Errorf("it is read as %+v", a)
		}
	}
}

func TestMemoryIsFlat(t *testing.T) {
	const mib = 1 << 20
	cases := map[string]struct {
		reason string
		most   quarters
		flat   bool
	}{
		"Same":    {"nothing has changed", quarters{80 * mib, 80 * mib, 80 * mib, 80 * mib}, true},
		"Wobble":  {"a little more is chance", quarters{80 * mib, 90 * mib, 100 * mib, 110 * mib}, true},
		"Growing": {"what grows from quarter to quarter leaks", quarters{80 * mib, 120 * mib, 160 * mib, 200 * mib}, false},
		"Peak":    {"a peak that has passed is no leak", quarters{80 * mib, 80 * mib, 300 * mib, 80 * mib}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := c.most.flat(); (err == nil) != c.flat {
				t.Errorf("%s, but flat() = %v", c.reason, err)
			}
		})
	}
}

func TestSamplesGoToTheirQuarter(t *testing.T) {
	began := time.Date(2026, 8, 19, 10, 0, 0, 0, time.UTC)
	m := &memory{}
	m.add(began, 99) // before the start: nobody's
	m.start(began, 4*time.Minute)
	for at, resident := range map[time.Duration]int64{
		0: 1, 59 * time.Second: 2, time.Minute: 3, 2*time.Minute + time.Second: 4, 4 * time.Minute: 5, time.Hour: 4,
	} {
		m.add(began.Add(at), resident)
	}
	if diff := cmp.Diff(quarters{2, 3, 4, 5}, m.quarters()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASeedRepeatsTheSameDecisions(t *testing.T) {
	decisions := func(seed uint64) []string {
		var made []string
		p := newPlan(seed)
		e := newEditor(&soak{options: options{n: 100, seed: seed}}, 1)
		for range 50 {
			made = append(made, p.next().name, fmt.Sprint(e.victim(3)), fmt.Sprint(e.spec()))
		}
		return made
	}
	if diff := cmp.Diff(decisions(7), decisions(7)); diff != "" {
		t.Errorf("the same seed decided otherwise:\n%s", diff)
	}
	if cmp.Equal(decisions(7), decisions(8)) {
		t.Error("another seed decided the same")
	}
}

func TestEveryFaultHappens(t *testing.T) {
	happened := map[string]bool{}
	p := plan{random: rand.New(rand.NewPCG(1, 2))}
	for range 500 {
		happened[p.next().name] = true
	}
	if len(happened) != len(faults) {
		t.Errorf("only these happened: %v", happened)
	}
}

func TestVandalsTouchOnlyWhatTheControllerWrote(t *testing.T) {
	var a app
	a.Metadata.Name, a.Spec = appName(3), appSpec{Extra: true, Entries: []string{"a"}}
	written := map[string]object{}
	for _, o := range expected(a, inputs{revision: 1}) {
		written[client.Path(children[o["kind"].(string)], namespace, o.meta()["name"].(string))] = o
	}
	e := newEditor(&soak{options: options{n: 10}}, 3)
	seen := map[string]bool{}
	for range 200 {
		v := e.victim(3)
		want, found := written[v.path]
		if !found {
			t.Fatalf("%s is no object of the instance", v.path)
		}
		seen[v.path] = true
		data, _ := want["data"].(map[string]any)
		for _, key := range v.data {
			if _, found := data[key]; !found {
				t.Errorf("%s has no data.%s", v.path, key)
			}
		}
	}
	if len(seen) != len(written) {
		t.Errorf("only these are ever touched: %v", seen)
	}
}

func TestEditorsShareTheInstances(t *testing.T) {
	owners := map[int]int{}
	for i := range editors {
		for _, slot := range newEditor(&soak{options: options{n: 10}}, i).slots {
			owners[slot]++
		}
	}
	for slot := range 10 {
		if owners[slot] != 1 {
			t.Errorf("instance %d has %d editors", slot, owners[slot])
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-duration", "1h", "-n", "50"}, 11)
	if err != nil || o.seed != 11 || o.duration != time.Hour || o.n != 50 {
		t.Errorf("options = %+v, %v", o, err)
	}
	for _, wrong := range [][]string{{"-n", "1"}, {"-duration", "0s"}, {"-rate", "-1"}, {"extra"}} {
		if _, err := parseOptions(wrong, 0); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
	if got := faultPause(5 * time.Minute); got != 10*time.Second {
		t.Errorf("pause in five minutes = %s", got)
	}
	if got := faultPause(time.Hour); got != 90*time.Second {
		t.Errorf("pause in an hour = %s", got)
	}
}
