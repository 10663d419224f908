package cel

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// results holds expressions and the text they give: what authors' objects contain depends on each of them.
var results = []struct{ source, want string }{
	// operators and conversions
	{`string(7 / 2) + string(-7 / 2) + string(7 % 3) + string(-7 % 3)`, `3-31-1`},
	{`string(7.0 / 2.0) + ' ' + string(0.1) + ' ' + string(1e21) + ' ' + string(double(3))`, `3.5 0.1 1e+21 3`},
	{`string(int('42') + int(3.9) + int(true ? 1 : 0)) + ' ' + string(double('1.5')) + ' ' + string(bool('true')) + ' ' + string(uint(7))`, `46 1.5 true 7`},
	{`1 < 2 && !(2 < 1) || false ? 'yes' : 'no'`, `yes`},
	{`string('a' < 'b') + string([1, 2] == [1, 2]) + string({'a': 1} == {'a': 1}) + string(dyn(1) == dyn(1.0))`, `truetruetruetrue`},
	{`string(timestamp('2024-02-28T23:00:00Z') + duration('2h')) + ' ' + string(timestamp('2024-02-29T01:00:00Z').getDayOfMonth()) + ' ' + string(timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-29T00:00:00Z'))`, `2024-02-29T01:00:00Z 28 86400s`},
	{`string(duration('90m').getHours()) + string(duration('1h30m'))`, `15400s`},
	{`schema.spec.num > 2 ? 'many' : 'few'`, `many`},
	{`schema.spec.m['k'] + schema.spec.m.k`, `vv`},
	{`schema.kind + ' ' + schema.apiVersion.split('/')[1] + ' ' + schema.metadata.name`, `Core v1alpha1 r`},
	{`string(schema.metadata.namespace == 'demo')`, `true`},
	{`r'a\b' + 'x\u0041y'`, `a\bxAy`},
	// encoders, hashes and JSON
	{`base64.encode(b'hello') + ' ' + string(base64.decode('aGVsbG8='))`, `aGVsbG8= hello`},
	{`string(base64.decode('aGVsbG8'))`, `hello`},
	{`'%x'.format([hash.sha256('kro')])`, `53478db94ea65ea77f0cd9056cd16926d7e6605e0b7f74257194ea8553521854`},
	{`'%x'.format([hash.md5('kro')])`, `5c6d01587c46060488c56e6484d3e1e9`},
	{`'%x'.format([hash.fnv64a('kro')])`, `3de738193673efe5`},
	{`base64.encode(hash.sha256(''))`, `47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`},
	{`string(size(hash.sha256('a'))) + ' ' + string(size(hash.md5('a'))) + ' ' + string(size(hash.fnv64a('a')))`, `32 16 8`},
	{`json.marshal({'b': [1, 2.5, true, null], 'a': {'x': 'y'}})`, `{"a":{"x":"y"},"b":[1,2.5,true,null]}`},
	{`json.marshal({'t': '<a href="x">&</a>'})`, `{"t":"\u003ca href=\"x\"\u003e\u0026\u003c/a\u003e"}`},
	{`string(json.unmarshal('{"a": {"list": ["x", "z"]}, "num": 3}').a.list[1])`, `z`},
	{`string(json.unmarshal('{"num": 3}').num)`, `3`},
	{`json.marshal(json.unmarshal('[1, 2.50, 1e3, "<"]'))`, `[1,2.5,1000,"\u003c"]`},
	{`json.marshal(schema.spec.nulls)`, `{"deep":{"list":[1,{"k":null}]}}`},
	{`string(bytes('é').size()) + string(b'\x41')`, `2A`},
	// Kubernetes' libraries
	{`url('https://user@example.com:8443/a%20b/c?x=1&x=2#f').getHost() + ' ' + url('https://example.com:8443/').getHostname() + ' ' + url('https://example.com:8443/').getPort() + ' ' + url('https://e.com/a b').getEscapedPath() + ' ' + url('https://e.com/').getScheme()`, `example.com:8443 example.com 8443 /a%20b https`},
	{`url('https://e.com/?x=1&x=2').getQuery()['x'].join('+')`, `1+2`},
	{`string(isURL('https://e.com/x')) + string(isURL('nope'))`, `truefalse`},
	{`'abc-123-def-45'.find('[0-9]+') + ' ' + 'abc'.find('[0-9]+') + '|'`, `123 |`},
	{`'a1b22c333'.findAll('[0-9]+').join(',') + ' ' + 'a1b22c333'.findAll('[0-9]+', 2).join(',')`, `1,22,333 1,22`},
	{`string(quantity('1Gi').compareTo(quantity('1024Mi'))) + string(quantity('500m').isLessThan(quantity('1'))) + string(quantity('2k').asInteger()) + ' ' + string(quantity('1500m').asApproximateFloat())`, `0true2000 1.5`},
	{`string(quantity('100Mi').add(quantity('100Mi')).compareTo(quantity('200Mi'))) + string(quantity('50k').sub(quantity('1k')).asInteger()) + string(quantity('50k').sub(1000).asInteger()) + string(sign(quantity('-5'))) + string(quantity('1.5').isInteger())`, `04900049000-1false`},
	{`string(isQuantity('1.3Gi')) + string(isQuantity('1,3Gi'))`, `truefalse`},
	{`string(ip('192.168.0.1').family()) + string(ip('::1').family()) + string(ip('127.0.0.1').isLoopback()) + string(isIP('300.1.1.1')) + ' ' + string(ip('2001:db8::abcd'))`, `46truefalse 2001:db8::abcd`},
	{`string(ip.isCanonical('2001:db8:0:0::1')) + string(ip('0.0.0.0').isUnspecified()) + string(ip('169.254.1.1').isLinkLocalUnicast()) + string(ip('8.8.8.8').isGlobalUnicast())`, `falsetruetruetrue`},
	{`string(cidr('10.0.0.0/8').containsIP('10.1.2.3')) + string(cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')) + string(cidr('10.1.2.3/8').prefixLength()) + ' ' + string(cidr('10.1.2.3/8').masked()) + ' ' + string(cidr('10.1.2.3/8').ip()) + ' ' + string(isCIDR('10.0.0.0/33'))`, `truefalse8 10.0.0.0/8 10.1.2.3 false`},
	{`string(semver('1.10.0').isGreaterThan(semver('1.9.9'))) + string(semver('1.2.3-rc.1').compareTo(semver('1.2.3'))) + string(semver('4.5.6').major()) + string(semver('4.5.6').minor()) + string(semver('4.5.6').patch())`, `true-1456`},
	{`string(isSemver("v1.2")) + string(isSemver("v1.2", true)) + string(semver("v1.2", true).minor())`, `falsetrue2`},
	// kro's functions
	{`random.seededString(20, 'abc')`, `r6qfjs5dr6qfjs5dr6qf`},
	{`random.seededString(5, 'other seed')`, `j3m83`},
	{`string(random.seededInt(30000, 32768, 'abc')) + ' ' + string(random.seededInt(10, 20, 'abc'))`, `32138 14`},
	{`string(random.seededInt(-5, 5, 'seed'))`, `-3`},
	{`random.seededString(3, '')`, `ew0`},
	{`string(random.seededString(10, schema.metadata.uid) == random.seededString(10, schema.metadata.uid)) + string(size(random.seededString(10, schema.metadata.uid)))`, `true10`},
	{`json.marshal({'a': 'one', 'b': 'two'}.merge({'b': 'three', 'c': 'four'}))`, `{"a":"one","b":"three","c":"four"}`},
	{`json.marshal(schema.spec.labels.merge({'added': 'x'}))`, `{"added":"x","app":"web"}`},
	{`json.marshal({'a': {'x': 1}}.merge({'a': {'z': 2}}))`, `{"a":{"z":2}}`},
	{`json.marshal(schema.spec.o.deepMerge({'a': {'z': 2, 'l': [9]}, 'new': true}))`, `{"a":{"l":[9],"x":1,"z":2},"keep":"k","new":true}`},
	{`json.marshal({'a': {'x': {'p': 1}}}.deepMerge({'a': {'x': {'q': 2}}}))`, `{"a":{"x":{"p":1,"q":2}}}`},
	{`cel.bind(two, 1 + 1, string(two * two))`, `4`},
	// lists
	{`['a', 'b', 'c', 'd'].slice(1, 3).join()`, `bc`},
	{`[[1, 2], [3]].flatten().map(e, string(e)).join(',')`, `1,2,3`},
	{`json.marshal([1, [2, [3, [4]]]].flatten(2))`, `[1,2,3,[4]]`},
	{`['b', 'c', 'a'].sort().join()`, `abc`},
	{`[{'k': 2, 'v': 'two'}, {'k': 1, 'v': 'one'}].sortBy(e, e.k).map(e, e.v).join(',')`, `one,two`},
	{`['a', 'b', 'a'].distinct().join()`, `ab`},
	{`[1, 2, 3].reverse().map(e, string(e)).join()`, `321`},
	{`lists.range(4).map(e, string(e)).join(',')`, `0,1,2,3`},
	{`['a', 'b'].first().orValue('none') + ['a', 'b'].last().orValue('none')`, `ab`},
	{`string([1, 2, 2].isSorted()) + string(['b', 'a'].isSorted())`, `truefalse`},
	{`string([1, 2, 3].sum()) + ' ' + string([1.5, 2.0].sum()) + ' ' + string([4, 9, 2].min()) + ' ' + string([4, 9, 2].max())`, `6 3.5 2 9`},
	{`string([1, 2, 2].indexOf(2)) + string([1, 2, 2].lastIndexOf(2)) + string([1].indexOf(5))`, `12-1`},
	{`string(2 in [1, 2]) + string('x' in {'x': 1})`, `truetrue`},
	{`([1] + [2, 3]).map(e, string(e)).join()`, `123`},
	{`string([1, 2, 3].all(e, e > 0)) + string([1, 2].exists(e, e > 1)) + string([1, 1].exists_one(e, e == 1)) + [1, 2, 3].filter(e, e % 2 == 1).map(e, string(e)).join()`, `truetruefalse13`},
	{`[1, 2, 3].map(e, e > 1, string(e * 10)).join(',')`, `20,30`},
	{`{'b': 1, 'a': 2}.map(k, k).sort().join()`, `ab`},
	{`json.marshal(lists.setAtIndex([1, 2, 3], 1, 9))`, `[1,9,3]`},
	{`json.marshal(lists.insertAtIndex([1, 2], 0, 9)) + json.marshal(lists.insertAtIndex([1, 2], 2, 9))`, `[9,1,2][1,2,9]`},
	{`json.marshal(lists.removeAtIndex(['a', 'b', 'c'], 1))`, `["a","c"]`},
	{`schema.spec.names.sort().map(e, e + '.svc').join(';')`, `a.svc;b.svc`},
	// optionals
	{`schema.spec.?name.orValue('none') + schema.spec.?gone.orValue('none')`, `hernone`},
	{`string(has(schema.spec.name)) + string(has(schema.spec.gone)) + string(schema.spec.?gone.hasValue())`, `truefalsefalse`},
	{`schema.spec.list[?0].orValue('x') + schema.spec.list[?7].orValue('x')`, `ax`},
	{`schema.spec.m[?'k'].orValue('x') + schema.spec.m[?'q'].orValue('x')`, `vx`},
	{`string(schema.spec.?deep.?inner.orValue(5))`, `5`},
	{`schema.spec.?gone.or(schema.spec.?name).value()`, `her`},
	{`schema.spec.?name.optMap(s, s + '!').orValue('') + schema.spec.?gone.optMap(s, s + '!').orValue('no')`, `her!no`},
	{`schema.spec.?m.optFlatMap(m, m.?k).orValue('no')`, `v`},
	{`string(optional.ofNonZeroValue('').hasValue()) + optional.of('x').value()`, `falsex`},
	{`json.marshal({?'a': schema.spec.?name, ?'b': schema.spec.?gone})`, `{"a":"her"}`},
	{`json.marshal([?schema.spec.?gone, ?schema.spec.?name, 'z'])`, `["her","z"]`},
	{`json.marshal([optional.of(1), optional.none(), optional.of(3)].unwrapOpt())`, `[1,3]`},
	{`schema.metadata.?labels['team'].orValue('none') + schema.metadata.?annotations[?'team'].orValue('no')`, `noneno`},
	// strings
	{`'kro'.charAt(1)`, `r`},
	{`string('banana'.indexOf('an', 2)) + string('banana'.indexOf('x'))`, `3-1`},
	{`string('banana'.lastIndexOf('an'))`, `3`},
	{`'ÄBC-Q'.lowerAscii()`, `Äbc-q`},
	{`'abc-é'.upperAscii()`, `ABC-é`},
	{`'a.b.c'.replace('.', '-')`, `a-b-c`},
	{`'a.b.c'.replace('.', '-', 1)`, `a-b.c`},
	{`'a,b,c'.split(',').join('+') + 'a,b,c'.split(',', 2).join('+')`, `a+b+ca+b,c`},
	{`'tacocat'.substring(4) + '|' + 'tacocat'.substring(0, 4)`, `cat|taco`},
	{`'[' + ' \t x y \n'.trim() + ']'`, `[x y]`},
	{`'stressed'.reverse()`, `desserts`},
	{`['x', 'y', 'z'].join()`, `xyz`},
	{`'%s has %d of %.2f (%x, %X, %o, %b, %e)'.format(['who', 12, 1.5, 255, 255, 8, 5, 1234.5])`, `who has 12 of 1.50 (ff, FF, 10, 101, 1.234500e+03)`},
	{`'%s %s %s'.format([[1, 2], {'k': true}, null])`, `[1, 2] {k: true} null`},
	{`strings.quote('tab\tend')`, `"tab\tend"`},
	{`string('kro'.startsWith('k') && 'kro'.endsWith('o') && 'kro'.contains('r') && !'kro'.matches('^x'))`, `true`},
	{`string('xkrox'.matches('k.o'))`, `true`},
	{`string(size('héé'))`, `3`},
	{`'a' + 'b' + "c"`, `abc`},
	{`schema.spec.word.upperAscii() + schema.spec.word.charAt(0)`, `WORDw`},
	// comprehensions with two variables
	{`string({'a': 1, 'b': 2}.all(k, v, v > 0 && k != ''))`, `true`},
	{`string(['x', 'z'].exists(pos, v, pos == 1 && v == 'z')) + string([1, 1].existsOne(pos, v, v == 1))`, `truefalse`},
	{`['a', 'b'].transformList(pos, v, string(pos) + v).join(',')`, `0a,1b`},
	{`[5, 6, 7].transformList(pos, v, pos > 0, string(v)).join(',')`, `6,7`},
	{`{'a': 'x', 'b': 'z'}.transformList(k, v, k + v).sort().join(',')`, `ax,bz`},
	{`json.marshal({'a': 1, 'b': 2}.transformMap(k, v, v * 10))`, `{"a":10,"b":20}`},
	{`json.marshal({'a': 1, 'b': 2}.transformMap(k, v, k == 'b', v))`, `{"b":2}`},
	{`json.marshal(['p', 'q'].transformMap(pos, v, v).transformList(k, v, string(k) + v).sort())`, `["0p","1q"]`},
	{`json.marshal({'a': 'x', 'b': 'z'}.transformMapEntry(k, v, {v: k}))`, `{"x":"a","z":"b"}`},
	{`json.marshal(['p', 'q'].transformMapEntry(pos, v, pos == 1, {v: pos}))`, `{"q":1}`},
	{`json.marshal(schema.spec.pairs.transformMapEntry(k, v, {'x/' + k: v.upperAscii()}))`, `{"x/a":"B","x/c":"D"}`},
}

func TestResultsAreExact(t *testing.T) {
	env := testEnv(t)
	vars := testVars(t)
	for _, tc := range results {
		x, err := env.Compile(tc.source, Template)
		if err != nil {
			t.Errorf("Compile(%s): %v", tc.source, err)
			continue
		}
		v, err := x.Eval(context.Background(), vars)
		if err != nil {
			t.Errorf("Eval(%s): %v", tc.source, err)
			continue
		}
		got, err := ToJSON(v)
		if err != nil {
			t.Errorf("ToJSON(%s): %v", tc.source, err)
			continue
		}
		if diff := cmp.Diff(any(tc.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.source, diff)
		}
	}
}
