import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, CaseErrorCode, defineChecker, InputError, StubMissingError, tryCase } from "@retrial/sdk";

const input =
  '{"age":7,"Age":8,"none":null,"scope":{"user":"u"},"big":9007199254740993,"score":0.60000000000000001,"one":1.0,"exp":1e+21,"list":[1],"yes":true}';

/** Runs a function over a case. */
async function over<T>(read: (c: Case) => T, stubs = {}): Promise<T> {
  let out: T | undefined;
  const checker = defineChecker({ name: "x", version: "1" }, (c) => {
    out = read(c);
    return { verdict: "a" };
  });
  const answer = await tryCase(checker, { input, stubs });
  assert.equal(answer.error, undefined);
  return out as T;
}

/** Gives the message of the InputError that a function throws. */
function refused(read: () => unknown): string {
  try {
    read();
  } catch (e) {
    assert.ok(e instanceof InputError, String(e));
    return e.message;
  }
  return "nothing was thrown";
}

test("members are read by their exact names, and lose nothing", async () => {
  await over((c) => {
    assert.equal(c.integer("age"), 7);
    assert.equal(c.integer("Age"), 8);
    assert.equal(c.text("scope", "user"), "u");
    assert.equal(c.bigint("big"), 9007199254740993n);
    assert.equal(c.bigint("age"), 7n);
    assert.equal(c.number("score"), 0.6);
    assert.equal(c.number("one"), 1);
    assert.equal(c.number("exp"), 1e21);
    assert.equal(c.boolean("yes"), true);
    assert.equal(c.object("scope").user, "u");
    assert.equal(c.value("none"), null);
    assert.equal(c.value("scope", "user", "deeper"), undefined);
    assert.equal(c.value("list", "0"), undefined);
    assert.equal(c.value("toString"), undefined);
    assert.equal(c.input(), c.input());
  });
});

test("what is missing, null or of another type is said by name, and never taken for a zero", async () => {
  await over((c) => {
    assert.equal(
      refused(() => c.integer("AGE")),
      'member "AGE" is missing: expected a whole number of at most 53 bits',
    );
    assert.equal(
      refused(() => c.text("scope", "x")),
      'member "scope.x" is missing: expected a string',
    );
    assert.equal(
      refused(() => c.text("none")),
      'member "none" is null: expected a string',
    );
    assert.equal(
      refused(() => c.boolean("age")),
      'member "age" is 7: expected true or false',
    );
    assert.equal(
      refused(() => c.number("yes")),
      'member "yes" is true: expected a number',
    );
    assert.equal(
      refused(() => c.integer("big")),
      'member "big" is 9007199254740993: expected a whole number of at most 53 bits',
    );
    assert.equal(
      refused(() => c.bigint("one")),
      'member "one" is 1.0: expected a whole number',
    );
    assert.equal(
      refused(() => c.bigint("exp")),
      'member "exp" is 1e+21: expected a whole number',
    );
    assert.equal(
      refused(() => c.object("list")),
      'member "list" is [1]: expected an object',
    );
  });
});

test("a stub that is missing decides, and one that is no JSON is the input's fault", async () => {
  const good = await over((c) => [c.stub("kind"), Buffer.from(c.stubBytes("kind")).toString()], { kind: "fact" });
  assert.deepEqual(good, ["fact", '"fact"']);
  const swallows = defineChecker({ name: "x", version: "1", callsStubs: true }, (c) => {
    assert.throws(() => c.stub("kind"), StubMissingError);
    return { verdict: "a" };
  });
  const answer = await tryCase(swallows, { input: {} });
  assert.deepEqual(
    [answer.outcome, answer.error?.code, answer.error?.call],
    [undefined, CaseErrorCode.STUB_MISSING, "kind"],
  );
});

test("a case that has ended gives no stub any more", async () => {
  let kept: Case | undefined;
  const checker = defineChecker({ name: "x", version: "1" }, (c) => {
    kept = c;
    return { verdict: "a" };
  });
  await tryCase(checker, { input: {}, stubs: { kind: "fact" } });
  assert.throws(() => kept?.stub("kind"), /after the case has ended/);
});

test("the types of parameters are those of their defaults", async () => {
  const checker = defineChecker(
    {
      name: "x",
      version: "1",
      parameters: { days: { default: 30 }, word: { default: "w" }, strict: { default: false }, big: { default: 1n } },
    },
    (c) => {
      const days: number = c.parameters.days;
      const word: string = c.parameters.word;
      const strict: boolean = c.parameters.strict;
      const big: bigint = c.parameters.big;
      // @ts-expect-error there is no such parameter
      assert.equal(c.parameters.nope, undefined);
      return { verdict: `${days} ${word} ${strict} ${big}` };
    },
  );
  const answer = await tryCase(checker, { input: {}, parameters: { days: 14, big: 2n ** 70n } });
  assert.equal(answer.outcome?.verdict, "14 w false 1180591620717411303424");
  await assert.rejects(tryCase(checker, { input: {}, parameters: { nope: 1 } }), /takes no such parameter/);
});
