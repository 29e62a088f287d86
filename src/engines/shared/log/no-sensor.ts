/**
 * In place of a sensor's key in the log: the entry's datapoint was removed. It has no timestamp and the value 0, and stays
 * so that seqs go on without a gap.
 */
export const noSensor = 0;
