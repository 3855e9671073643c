/* SPDX-License-Identifier: MIT */
/* libhz's errors, as sentences. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "internal.h"

const char *hz_version(void)
{
    return HZ_VERSION;
}

const char *hz_strerror(int error)
{
    const char *s;

    switch (error) {
    case -ENOENT:
        return "there is no such device, subject or notice";
    case -EACCES:
        return "no permission: the device is for root and its group";
    case -ENODEV:
        return "the device is gone";
    case -EIO:
        return "the device broke the protocol and needs a reset";
    case -EPROTO:
        return "this isn't an hz device, or one of another interface version";
    case -EBADMSG:
        return "a record that can't be understood was skipped";
    case -EINVAL:
        return "a name, length or value is wrong";
    case -EOPNOTSUPP:
        return "the device doesn't know this request";
    case -EMSGSIZE:
        return "larger than the device takes";
    case -ENOSPC:
        return "the board is full: withdraw a declaration first";
    case -ESTALE:
        return "something else stands there by now";
    case -ECANCELED:
        return "the notice is closed, or has another revision or generation by now";
    case -EBUSY:
        return "another program has it: one owner a subject, one responder a guest";
    case -EPERM:
        return "only the responder may answer notices";
    case -EAGAIN:
        return "the device was reset again and again meanwhile";
    case -EDOM:
        return "a value can't be told exactly in the field's unit";
    case -ERANGE:
        return "outside the field's bounds";
    }
    s = strerrordesc_np(error < 0 ? -error : error);
    return s ? s : "an unknown error";
}
