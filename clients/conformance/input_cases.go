package conformance

import (
	"context"
	"fmt"
	"strings"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
)

// answers makes a case of an input that must be answered, be it by an error of the case.
func answers(name, says, input string) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error {
		return r.one(ctx, &checkerv1.Case{CaseId: 1, Input: []byte(input)})
	})
}

// refuses makes a case of an input that is none, beside one that is: the first must end in an error, the second be answered.
func refuses(name, says, input string) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error {
		good := r.samples(1, 2)[0]
		out, err := r.ask(ctx, plan{batches: [][]*checkerv1.Case{{{CaseId: 1, Input: []byte(input)}, good}}})
		if err != nil {
			return err
		}
		if o := out[1].GetOutcome(); o != nil {
			return fmt.Errorf("it decided %s/%s on %.40q", o.GetVerdict(), o.GetReasonCode(), input)
		}
		return nil
	})
}

// beside gives a sample with a member more.
func beside(sample []byte, value string) []byte {
	body := strings.TrimSuffix(string(sample), "}")
	if body != "{" {
		body += ","
	}
	return []byte(body + `"zzz_conformance":` + value + "}")
}

// bears makes a case of a sample with a member more: it must be answered, in whatever way.
func bears(name, says, value string) testCase {
	return contract(name, says, func(ctx context.Context, r *runner) error {
		s := r.t.Samples[0]
		return r.one(ctx, &checkerv1.Case{CaseId: 1, Input: beside(s.Input, value), Stubs: s.Stubs})
	})
}

func inputCases() []testCase {
	return []testCase{
		answers("input-empty-object", "an empty object is answered", `{}`),
		bears("input-1-mib", "an input of 1 MiB is answered", `"`+strings.Repeat("x", 1<<20)+`"`),
		bears("input-large-integer", "an integer beyond 64 bits is borne", "123456789012345678901234567890"),
		bears("input-beyond-53-bits", "an integer beyond 53 bits is borne", "9007199254740993"),
		bears("input-small-number", "a number that is nearly nothing is borne", "1e-400"),
		bears("input-nul", "a NUL in a text is borne", `"a\u0000b"`),
		bears("input-non-nfc", "a text that is not normalised is borne", "\"e\u0301\""),
		bears("input-astral", "a text beyond the basic plane is borne", "\"\U0001F9E0\""),
		bears("input-deep", "a hundred levels of nesting are borne", strings.Repeat(`{"a":[`, 50)+"1"+strings.Repeat("]}", 50)),
		bears("input-empty-text", "an empty text is borne", `""`),
		bears("input-many-members", "ten thousand elements are borne", "["+strings.Repeat("0,", 9999)+"0]"),
		refuses("input-no-json", "an input that is no JSON ends that case in an error, and no other", `{"a":`),
		refuses("input-empty", "an empty input ends that case in an error, and no other", ``),
		refuses("input-array", "an array ends that case in an error, and no other", `[]`),
		refuses("input-text", "a text ends that case in an error, and no other", `"x"`),
		refuses("input-null", "null ends that case in an error, and no other", `null`),
		refuses("input-no-utf8", "bytes that are no UTF-8 end that case in an error, and no other", "{\"a\":\"\xff\xfe\"}"),
	}
}
