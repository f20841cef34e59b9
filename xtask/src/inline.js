
/** The bytes: a character for each, after a mark if the byte is 90 or more. */
export default () => {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  let above = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 32) above = 90; // " "
    else if (code === 35) above = 180; // "#"
    else {
      bytes[length++] = (code === 126 ? 92 : code) - 36 + above; // "~" stands for "\\", and "$" for 0
      above = 0;
    }
  }
  return bytes.subarray(0, length);
};
