// Package modelserver answers a checker that calls a model by itself, over HTTP in OpenAI's form, from the recordings of the
// version under trial.
//
// It promises that whatever is asked is either answered by what was recorded for exactly that, or refused: in the answer, by a
// status that no client tries again, and among what Refused gives, so that a run knows of it where the checker does not say so.
// It has no default, no nearest match, and no way to a real model.
package modelserver
