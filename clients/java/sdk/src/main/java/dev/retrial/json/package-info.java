/** JSON that loses nothing. */
package dev.retrial.json;
