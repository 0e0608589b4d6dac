/** The SDK for checkers: implement {@link dev.retrial.sdk.Checker}, and have {@link dev.retrial.sdk.Retrial} serve it. */
package dev.retrial.sdk;
