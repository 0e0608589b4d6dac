// Package retrial is the Go SDK: it turns a function into a checker, and calls the service.
//
// A checker is one type with two methods:
//
//	type promotion struct{}
//
//	func (promotion) Describe() retrial.Description {
//		return retrial.Description{Name: "promotion", Version: "1.4.0"}
//	}
//
//	func (promotion) Check(ctx context.Context, c *retrial.Case) (retrial.Outcome, error) {
//		age, err := retrial.Member[int](c, "age_days_at_decision")
//		if err != nil {
//			return retrial.Outcome{}, err
//		}
//		if age > 30 {
//			return retrial.Outcome{Verdict: "dropped", ReasonCode: "stale"}, nil
//		}
//		return retrial.Outcome{Verdict: "promoted", ReasonCode: "fresh"}, nil
//	}
//
//	func main() { os.Exit(retrial.Serve(promotion{})) }
//
// Serve finds out by itself whether it was launched by Retrial, should listen at an address, or should attach to a server. Batches, ordering,
// panics and missing stubs are its affair.
package retrial
