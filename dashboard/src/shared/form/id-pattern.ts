// The server's rule for ids of devices and gateways, so that a form can say so before it is sent.

/** Printable ASCII without spaces and without what has a meaning in addresses. */
export const idPattern = /^(?!\.\.?$)(?!.*[&?/#+<>"'=;()])[!-~]{1,256}$/;
