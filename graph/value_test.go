package graph

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const instanceText = `{apiVersion: example.com/v1alpha1, kind: Thing, metadata: {name: i, namespace: ns, uid: u}, spec: {a: x, num: 3, flag: true, l: [p, q], m: {k: v}, o: {free: [1, {b: c}]}}}`

func TestValueEval(t *testing.T) {
	p := mustCompile(t, resources(
		configMap("cm", "", `{whole: "${schema.spec.a}", text: "<${schema.spec.a}>", two: "${schema.spec.a}${schema.spec.a}", escaped: '${"${NOT_ME}"}', fixed: f, gone: "${schema.spec.flag ? omit() : ''}", void: "${schema.spec.flag ? null : schema.spec.o.x}", none: "${schema.spec.o.?none}", some: "${schema.spec.?a}"}`),
		`{id: dep, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: "${schema.spec.m}"}, spec: {replicas: "${schema.spec.num}", paused: "${schema.spec.num > 2}", selector: "${{'matchLabels': {'w': schema.spec.flag ? omit() : 'x', 'v': 'y'}}}", template: {spec: {containers: [{name: c, args: [first, "${omit()}", "${schema.spec.o.?none}", "${schema.spec.a}"]}, {name: e, env: "${[{'name': 'N', 'value': omit()}]}"}]}}}}}`,
		`{id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {raw: "${b'hi'}", text: "${base64.encode(b'hi')}", fixed: aGk=, copy: "${origin.data.token}"}}}`,
		`{id: all, template: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: "${origin.data}"}}`,
		`{id: origin, externalRef: {apiVersion: v1, kind: Secret, metadata: {name: origin, namespace: "${schema.spec.a}"}}}`,
		`{id: parts, forEach: [{v: "${schema.spec.l}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${v}"}, data: {v: "${v}"}}}`,
		`{id: picked, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {a: "${schema.spec.a}", b: c}}}}}`,
	))
	act := activation(t, p, instanceText, map[string]string{"origin": `{metadata: {name: origin}, data: {token: aHVudGVy}}`})
	wants := map[string]string{
		"cm":     `{"apiVersion":"v1","data":{"escaped":"${NOT_ME}","fixed":"f","some":"x","text":"\u003cx\u003e","two":"xx","void":null,"whole":"x"},"kind":"ConfigMap","metadata":{"name":"i-cm"}}`,
		"dep":    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"k":"v"},"name":"d"},"spec":{"paused":true,"replicas":3,"selector":{"matchLabels":{"v":"y"}},"template":{"spec":{"containers":[{"args":["first","x"],"name":"c"},{"env":[{"name":"N"}],"name":"e"}]}}}}`,
		"secret": `{"apiVersion":"v1","data":{"copy":"aHVudGVy","fixed":"aGk=","raw":"aGk=","text":"aGk="},"kind":"Secret","metadata":{"name":"s"}}`,
		"all":    `{"apiVersion":"v1","data":{"token":"aHVudGVy"},"kind":"Secret","metadata":{"name":"s"}}`,
	}
	for id, want := range wants {
		if diff := cmp.Diff(want, evalBody(t, p, id, act)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", id, diff)
		}
	}
	namespace, err := p.Node("origin").Ref.Namespace.Eval(context.Background(), act)
	if namespace != "x" || err != nil {
		t.Errorf("namespace of a reference: %v, %v", namespace, err)
	}
	selector, err := p.Node("picked").Ref.Selector.Eval(context.Background(), act)
	if got := toJSON(t, selector); got != `{"matchLabels":{"a":"x","b":"c"}}` || err != nil {
		t.Errorf("selector: %s, %v", got, err)
	}
}

// TestBooksAreKept: labels and annotations that kro keeps its books with are none that a template can write at run time either.
func TestBooksAreKept(t *testing.T) {
	instance := `{apiVersion: example.com/v1alpha1, kind: Thing, metadata: {name: i, namespace: ns, uid: u,
		labels: {team: a, kro.run/owned: "true", applyset.kubernetes.io/id: applyset-x-v1}, annotations: {note: b, internal.kro.run/applyset-inventory-hash: h}},
		spec: {a: internal.kro.run/apply-order, num: 3}}`
	for reason, tc := range map[string]struct{ metadata, want, fault string }{
		"what is handed on from the instance is what users set": {
			metadata: `labels: "${schema.metadata.labels}", annotations: "${schema.metadata.annotations}"`,
			want:     `{"annotations":{"note":"b"},"labels":{"team":"a"},"name":"x"}`,
		},
		"also when it is merged": {
			metadata: `labels: "${schema.metadata.labels.merge({'kro.run/node-id': 'other', 'tier': 'web'})}"`,
			want:     `{"labels":{"team":"a","tier":"web"},"name":"x"}`,
		},
		"a computed key is refused": {
			metadata: `annotations: {"${schema.spec.a}": "7"}`,
			fault:    `key "internal.kro.run/apply-order": annotations with prefix "internal.kro.run/" are reserved for internal use`,
		},
		"a computed key of others is not": {
			metadata: `labels: {"${'example.com/' + string(schema.spec.num)}": "7"}`,
			want:     `{"labels":{"example.com/3":"7"},"name":"x"}`,
		},
	} {
		p := mustCompile(t, resources(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, `+tc.metadata+`}}}`))
		body, err := p.Node("cm").Body.Eval(context.Background(), activation(t, p, instance, nil))
		if tc.fault != "" {
			if err == nil || err.Error() != tc.fault {
				t.Errorf("%s: %v, want %s", reason, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if diff := cmp.Diff(tc.want, toJSON(t, body.(map[string]any)["metadata"])); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", reason, diff)
		}
	}
}

// TestValueFresh: what Eval returns may be changed without harm to the program or the instance.
func TestValueFresh(t *testing.T) {
	p := mustCompile(t, resources(`{id: cm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {l: m}, finalizers: [f]}, data: "${schema.spec.m}"}}`))
	act := activation(t, p, instanceText, nil)
	before := evalBody(t, p, "cm", act)
	body, err := p.Node("cm").Body.Eval(context.Background(), act)
	if err != nil {
		t.Fatal(err)
	}
	spoil(body)
	if after := evalBody(t, p, "cm", act); after != before {
		t.Errorf("a change of a result shows in the next: before %s, after %s", before, after)
	}
}

func spoil(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			spoil(v)
			value[name] = "spoilt"
		}
	case []any:
		for i, v := range value {
			spoil(v)
			value[i] = "spoilt"
		}
	}
}

func TestValueErrors(t *testing.T) {
	p := mustCompile(t, resources(
		configMap("pending", "", `{a: "${cm.data.missing}", b: "${cm.data.other}"}`),
		configMap("failed", "", `{a: "${cm.data.missing}", b: "${string(1 / (schema.spec.num - 3))}"}`),
		`{id: odd, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}", annotations: {q: "${dyn(quantity('1'))}"}}}}`,
		configMap("cm", "", `{a: b}`),
	))
	act := activation(t, p, instanceText, map[string]string{"cm": `{data: {}}`})
	cases := map[string]struct {
		reason, path, text string
		pending            bool
	}{
		"pending": {"the first expression without data is told", "data.a", `eval "cm.data.missing": no such key: missing`, true},
		"failed":  {"a fault that waiting does not mend comes before data that is missing", "data.b", "division by zero", false},
		"odd":     {"a result without JSON form names the expression", "metadata.annotations.q", `convert "dyn(quantity('1'))": unsupported type`, false},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			_, err := p.Node(id).Body.Eval(context.Background(), act)
			var value *ValueError
			if !errors.As(err, &value) {
				t.Fatalf("%s: error %v is no *ValueError", tc.reason, err)
			}
			if value.Path != tc.path || !strings.Contains(err.Error(), tc.text) || isPending(err) != tc.pending {
				t.Errorf("%s: path %s, pending %v, text %s", tc.reason, value.Path, isPending(err), err)
			}
		})
	}
}

func TestProjection(t *testing.T) {
	p := mustCompile(t, withStatus(`{name: "${cm.metadata.name}", wait: "${cm.data.later}", none: "${schema.spec.?a}", deep: {x: "${cm.data.later}", q: {z: "${cm.metadata.uid}"}}, gone: {x: "${cm.data.later}"}, list: ["${cm.data.later}", "pre-${cm.metadata.name}"], nothing: ["${cm.data.later}"], state: "${cm.metadata.name}", empty: {}, blank: [], copied: "${schema.spec.o}", bytes: "${b'hi'.size() > size(cm.data) ? b'hi' : b''}", failed: "${1 / size(cm.data)}", kept: "${schema.spec.l.filter(x, false)}"}`))
	act := activation(t, p, strings.Replace(instanceText, "a: x, ", "", 1), map[string]string{"cm": `{metadata: {name: nn, uid: u}, data: {}}`})
	status, errs := p.Status.Eval(context.Background(), act)
	want := `{"bytes":"aGk=","copied":{"free":[1,{"b":"c"}]},"deep":{"q":{"z":"u"}},"kept":[],"list":["pre-nn"],"name":"nn"}`
	if diff := cmp.Diff(want, toJSON(t, status)); diff != "" {
		t.Errorf("status: -want, +got:\n%s", diff)
	}
	var got []string
	for _, e := range errs {
		got = append(got, e.Path+map[bool]string{true: " pending", false: " failed"}[e.Pending])
	}
	if diff := cmp.Diff([]string{"deep.x pending", "failed failed", "gone.x pending", "list[0] pending", "nothing[0] pending", "wait pending"}, got); diff != "" {
		t.Errorf("failed leaves: -want, +got:\n%s", diff)
	}
	if p.Status.Empty() {
		t.Error("the projection has leaves")
	}
	bare := mustCompile(t, head)
	if status, errs := bare.Status.Eval(context.Background(), act); !bare.Status.Empty() || len(status) != 0 || errs != nil {
		t.Errorf("a definition without status: %v %v", status, errs)
	}
}

func TestStatusSchema(t *testing.T) {
	text := strings.Replace(withStatus(`{`+
		`text: "${cm.metadata.name}", mixed: "p-${cm.metadata.name}", cnt: "${size(cm.data)}", names: "${schema.spec.l}", copy: "${cm.data}", born: "${cm.metadata.creationTimestamp}",`+
		`open: "${schema.spec.o}", free: "${schema.spec.o.x}", maybe: "${schema.spec.?num}", word: "${schema.spec.ref}",`+
		`nest: {list: ["${cm.metadata.name}", "x-${cm.metadata.name}"], objs: [{who: "${cm.metadata.name}"}, {when: "${cm.metadata.creationTimestamp}"}]}}`),
		"  spec: {", "  spec: {ref: {namespace: string, a-b: string}, ", 1)
	p := mustCompile(t, text)
	status := p.Instance.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	for _, builtin := range []string{"conditions", "graph", "state"} {
		delete(status.Properties, builtin)
	}
	want := `{"type":"object","properties":{"born":{"description":"Timestamp representing a creation time","type":"string","format":"date-time"},` +
		`"cnt":{"type":"integer"},"copy":{"type":"object","additionalProperties":{"type":"string"}},"free":{"x-kubernetes-preserve-unknown-fields":true},` +
		`"maybe":{"type":"integer"},"mixed":{"type":"string"},"names":{"type":"array","items":{"type":"string"}},` +
		`"nest":{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},` +
		`"objs":{"type":"array","items":{"type":"object","properties":{"when":{"description":"Timestamp representing a creation time","type":"string","format":"date-time"},"who":{"type":"string"}}}}}},` +
		`"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"text":{"type":"string"},` +
		`"word":{"type":"object","properties":{"a-b":{"type":"string"},"namespace":{"type":"string"}}}}}`
	if diff := cmp.Diff(want, toJSON(t, status)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
