// Problems with references that have every kind of index, scalar and element in them.
#pragma once

#include <string>
#include <vector>

namespace attune::cuda {

inline std::vector<std::string> HostileReferences() {
  std::vector<std::string> problems = {
      "gemm@1{m=1,n=1,k=1}",
      "gemm@1{m=64,n=64,k=16}",
      "gemm@1{m=65,n=129,k=17}",
      "gemm@1{m=130,n=70,k=300,ta=t}",
      "gemm@1{m=130,n=70,k=33,tb=t}",
      "gemm@1{m=20,n=30,k=40,ta=t,tb=t,type=f64}",
      "gemm@1{m=67,n=65,k=257,type=f64,batch=2,alpha=other,beta=other,ldc=71}",
      "gemm@1{m=20,n=30,k=40,lda=23,ldb=45,ldc=29,type=bf16}",
      "gemm@1{m=9,n=8,k=7,batch=5,type=f16}",
      "gemm@1{m=9,n=8,k=7,batch=5,sa=0,lda=12,ldc=11}",
      "gemm@1{m=9,n=8,k=7,batch=3,sa=5,sb=0,alpha=other,beta=other}",
      "gemm@1{m=9,n=8,k=7,alpha=zero,beta=one,ldc=10}",
      "gemm@1{m=9,n=80,k=7,bias=row,act=relu,type=f16}",
      "gemm@1{m=9,n=8,k=7,bias=column,act=gelu,beta=one,type=bf16}",
      "gemm@1{m=9,n=8,k=7,act=tanh,bias=row,beta=other,ldc=12,batch=2}",
      "gemm@1{m=90,n=8,k=7,act=sigmoid}",
      "gemm@1{m=48,n=40,k=96,type=f8e4m3,ctype=bf16,ta=t}",
      "gemm@1{m=48,n=40,k=96,type=f8e4m3,ctype=f32,bias=column}",
      "gemm@1{m=48,n=40,k=96,type=f8e5m2,ctype=f16,beta=one}",
      "gemm@1{m=130,n=70,k=1001,ta=t,type=i8,ctype=i32}",
      "gemm@1{m=67,n=65,k=257,batch=2,type=i8,ctype=i32,alpha=other,beta=other,ldc=71}",
      "gemm@1{m=9,n=80,k=7,type=i8,ctype=i32,bias=column,act=relu}",
      "gemm@1{m=1,n=400,k=33}",
      "gemm@1{m=400,n=1,k=33,ldb=40}"};
  const char* const shapes[] = {
      "n=1,c=1,h=1,w=1,k=1,fh=1,fw=1",
      "n=2,c=3,h=9,w=8,k=5,fh=3,fw=3,ph=1,pw=1",
      "n=1,c=4,h=11,w=13,k=6,fh=3,fw=2,sh=2,sw=3,ph=2,pw=1",
      "n=2,c=6,h=10,w=9,k=4,fh=2,fw=3,dh=2,dw=3,g=2,pw=3,type=bf16",
      "n=1,c=8,h=7,w=7,k=8,fh=3,fw=3,g=8,ph=1,pw=1,layout=nhwc,type=f16",
      "n=3,c=5,h=6,w=6,k=7,fh=1,fw=1,type=f64",
      "n=2,c=3,h=8,w=8,k=4,fh=5,fw=5,ph=4,pw=4,layout=nhwc,wlayout=nchw",
      "n=1,c=2,d=5,h=6,w=7,k=3,fd=3,fh=2,fw=3,pd=1,ph=1,pw=2,sd=2,sw=2",
      "n=1,c=4,d=4,h=5,w=6,k=2,fd=2,fh=3,fw=1,dd=2,g=2,layout=ndhwc,type=bf16",
      "n=2,c=36,h=8,w=8,k=70,fh=3,fw=3,ph=1,pw=1,type=f16"};
  for (const char* direction : {"fwd", "bwd_data", "bwd_weights"}) {
    for (const char* mode : {"", ",mode=trans"}) {
      for (const char* shape : shapes) {
        problems.push_back(std::string("conv@1{dir=") + direction + mode + "," + shape + "}");
      }
    }
  }
  problems.insert(
      problems.end(),
      {"conv@1{dir=fwd,n=2,c=3,h=9,w=8,k=5,fh=3,fw=3,bias=1}",
       "conv@1{dir=fwd,n=2,c=4,h=9,w=8,k=70,fh=3,fw=3,g=2,bias=1,type=bf16}",
       "conv@1{dir=fwd,mode=trans,n=2,c=4,h=7,w=8,k=6,fh=2,fw=3,sh=2,sw=3,oph=1,opw=2}",
       "conv@1{dir=fwd,mode=trans,n=2,c=4,h=7,w=8,k=6,fh=3,fw=3,sh=2,sw=2,g=2,bias=1}"});
  return problems;
}

}  // namespace attune::cuda
